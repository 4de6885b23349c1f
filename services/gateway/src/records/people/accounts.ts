import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { polledClock } from '@runledger/coordination/broker-clock';
import { accountRecords } from './account-records.ts';
import {
  mayStill,
  type Maker,
  invitationRecords,
  type InvitationRecords,
  memberRecords,
} from './member-records.ts';
import { memberships, type Memberships } from './membership.ts';
import { people, type People } from './people.ts';
import { sessionCallers, sessions, type SessionCallers, type Sessions } from './sessions.ts';
import { signInLimit, type SignInLimit } from './sign-in-limit.ts';
import { signInLinks, type SignInLinks } from './sign-in-links.ts';
import type { IdentityProvider, PendingSignIns } from './open-id-provider.ts';
import type { SessionHalves } from '../../door/credentials.ts';
import type { Kit } from '../../kit.ts';
import type { Audit } from '../audit/audit.ts';

/** People, their sessions, and the organisations that they are members of. */
export interface Accounts {
  readonly people: People;
  readonly sessions: Sessions;
  readonly callers: SessionCallers;
  readonly memberships: Memberships;
  readonly invitations: InvitationRecords;
  /** Whether somebody may still give what they gave. @throws {LogUnavailable} */
  readonly mayStill: (maker: Maker, scope: KeyScope) => Promise<boolean>;
  readonly links: SignInLinks;
  readonly limit: SignInLimit;
  /** By which sessions, links and invitations begin and end: the broker's, whatever the clock of this machine says. @throws {LogUnavailable} */
  readonly time: () => Promise<Date>;
}

export const accounts = (kit: Kit, brokerNow = polledClock(kit.log, 'KV_ACCOUNTS')): Accounts => {
  const { log, passwords } = kit;
  const time = async (): Promise<Date> => new Date(await brokerNow());
  const records = accountRecords(log);
  const members = memberRecords(log);
  const ofSessions = sessions(records, time);
  const stored = { members, invitations: invitationRecords(log), people: people(records, passwords), time };
  return {
    people: stored.people,
    sessions: ofSessions,
    callers: sessionCallers(log, ofSessions, members),
    memberships: memberships(kit, stored),
    invitations: stored.invitations,
    mayStill: (maker, scope) => mayStill(kit, members, maker, scope),
    links: signInLinks(kit, records, stored),
    limit: signInLimit(log),
    time,
  };
};

/** What the operations for people share. */
export interface AccountOperations {
  readonly kit: Kit;
  readonly accounts: Accounts;
  readonly audit: Audit;
  readonly halves: SessionHalves;
  /** At which people sign in beside passwords and links; undefined without one. */
  readonly provider: IdentityProvider | undefined;
  readonly pending: PendingSignIns;
}
