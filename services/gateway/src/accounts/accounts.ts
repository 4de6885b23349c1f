import type { Logger } from '@runledger/event-log/connect/logger';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { signer } from '@runledger/webhooks/signing/signer';
import type { AuthLibrary, OpenAuthLibrary } from './auth-library.ts';
import type { Maker } from './core/maker.ts';
import { mayStill } from './maker.ts';
import { memberships, type Memberships } from './membership.ts';
import { identities, type Identities } from './identities.ts';
import { people, type People } from './people.ts';
import { sessionCallers, type SessionCallers } from './session-callers.ts';
import { sessions, type Sessions } from './sessions.ts';
import { signInLimit, type SignInLimit } from './sign-in-limit.ts';
import { signInLinks, type SignInLinks } from './sign-in-links.ts';
import { accountRows } from './store/account-rows.ts';
import { invitationRecords, type InvitationRecords } from './store/invitation-records.ts';
import { linkRecords } from './store/link-records.ts';
import { memberRecords } from './store/member-records.ts';

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
  readonly identities: Identities;
  readonly limit: SignInLimit;
}

export interface AccountsOptions {
  readonly log: EventLog;
  /** RUNLEDGER_SECRET_KEYS. */
  readonly secretKeys: readonly string[];
  readonly now: () => Date;
  readonly logger: Logger;
}

export const accounts = ({ log, secretKeys, now, logger }: AccountsOptions): Accounts => {
  const rows = accountRows(log);
  const secret = signer(secretKeys, 'accounts').sign('better-auth');
  let opening: Promise<AuthLibrary> | undefined;
  const open = async (): Promise<AuthLibrary> => {
    const { openAuthLibrary } = await import('./auth-library.ts');
    return openAuthLibrary({ rows, secret, logger });
  };
  const library: OpenAuthLibrary = () => (opening ??= open());
  const members = memberRecords(log);
  const ofLinks = linkRecords(log);
  const ofPeople = people(rows, library);
  const ofSessions = sessions(rows, library, now);
  const invitations = invitationRecords(log);
  const ofMembers = memberships({ log, members, invitations, links: ofLinks, people: ofPeople, now });
  const given = { log, members, now };
  return {
    people: ofPeople,
    sessions: ofSessions,
    callers: sessionCallers({ log, sessions: ofSessions, members }),
    memberships: ofMembers,
    invitations,
    mayStill: (maker, scope) => mayStill(given, maker, scope),
    identities: identities(rows, library),
    links: signInLinks({ ...given, links: ofLinks, people: ofPeople }),
    limit: signInLimit(log),
  };
};
