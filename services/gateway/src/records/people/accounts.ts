import { scopesOfMember, type KeyScope, type ApiKey } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { signer } from '@runledger/webhooks/secret-box';
import type { AuthLibrary, OpenAuthLibrary } from './auth-library.ts';
import {
  mayStill,
  type Maker,
  invitationRecords,
  type InvitationRecords,
  memberRecords,
  type MemberRecords,
} from './member-records.ts';
import { memberships, type Memberships } from './membership.ts';
import { people, personIn, type People, type Person } from './people.ts';
import { sessions, type Sessions, type Session } from './sessions.ts';
import { signInLimit, type SignInLimit } from './sign-in-limit.ts';
import { signInLinks, linkRecords, type SignInLinks } from './sign-in-links.ts';
import { accountRows, hashOf, TABLES, RowExists, type Row, type AccountRows } from './account-rows.ts';
import type { Credential } from '../../door/caller.ts';
import { Refused } from '../../door/refusal.ts';
import type { IdentityProvider, IdentityId } from './open-id-provider.ts';
import type { SessionHalves } from '../../door/credentials.ts';
import type { PendingSignIns } from './pending-sign-ins.ts';
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
  readonly identities: Identities;
  readonly limit: SignInLimit;
}

export const accounts = (kit: Kit): Accounts => {
  const { config, log, now, logger } = kit;
  const rows = accountRows(log);
  const secret = signer(config.RUNLEDGER_SECRET_KEYS, 'accounts').sign('better-auth');
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
  const stored = { members, invitations, links: ofLinks, people: ofPeople };
  return {
    people: ofPeople,
    sessions: ofSessions,
    callers: sessionCallers(log, ofSessions, members),
    memberships: memberships(kit, stored),
    invitations,
    mayStill: (maker, scope) => mayStill(kit, members, maker, scope),
    identities: identities(rows, library),
    links: signInLinks(kit, members, ofLinks, ofPeople),
    limit: signInLimit(log),
  };
};

/** What sessions permit. */
export interface SessionCallers {
  /**
   * Undefined when the session is unknown or has ended. The reads count only if a quorum of the brokers is in touch, as with keys (ADR 3).
   * @throws {Refused} when the person is no member of the organisation of the session @throws {LogUnavailable}
   */
  find(text: string): Promise<Credential | undefined>;
  /** Whether a session still permits what it did when `find` returned this. @throws {LogUnavailable} */
  readonly isValid: (key: ApiKey) => Promise<boolean>;
}

const sessionCallers = (log: EventLog, sessions: Sessions, members: MemberRecords): SessionCallers => {
  const keyOf = async (session: Session): Promise<ApiKey | undefined> => {
    const { org_id, user_id } = session;
    if (org_id === null) return undefined;
    const member = (await members.of(org_id)).find((one) => one.user_id === user_id);
    if (member === undefined) return undefined;
    const scopes = scopesOfMember(member);
    return {
      id: session.id,
      user_id,
      org_id,
      name: 'session',
      prefix: '',
      // Another role, or another organisation, is another key.
      sha256: hashOf(session.id, org_id, ...scopes),
      scopes,
      // A person has one rate, in however many browsers.
      rate_key: user_id,
      created_at: new Date(session.created_at).toISOString(),
      expires_at: new Date(session.expires_at).toISOString(),
    };
  };
  return {
    find: async (text) => {
      const session = await sessions.find(text);
      const key = session && (await keyOf(session));
      await log.freshSequence?.();
      if (session === undefined) return undefined;
      if (key === undefined) throw notChosen();
      return { key, session: { id: session.id } };
    },
    isValid: async ({ id, sha256 }) => {
      const session = await sessions.findById(id);
      const key = session && (await keyOf(session));
      await log.freshSequence?.();
      return key?.sha256 === sha256;
    },
  };
};

const notChosen = (): Refused =>
  new Refused({
    code: 'organisation_not_chosen',
    why: 'You are no member of the organisation in which this session acts. Choose another one with PATCH /session, or ask an owner for an invitation',
  });

/**
 * Which identity of a provider is whose. An identity is one person's: its row is claimed by issuer and subject. A person has one identity
 * of a provider: the row of the person names it, and is changed by compare-and-set. Only where both agree, the identity signs in.
 * Every method may throw LogUnavailable, and may be called again then.
 */
interface Identities {
  personOf(identity: IdentityId): Promise<Person | undefined>;
  /**
   * False when the person has another identity of the provider, or the identity is another person's. `prepare` is called when nothing
   * forbids it, before the identity signs in.
   */
  link(user_id: string, identity: IdentityId, prepare: () => Promise<void>): Promise<boolean>;
  /** The provider at which the person signs in; undefined when the person does not. */
  issuerOf(user_id: string): Promise<string | undefined>;
}

const identities = (rows: AccountRows, library: OpenAuthLibrary): Identities => {
  const ownerOf = async ({ issuer, subject }: IdentityId): Promise<string | undefined> => {
    const row = await rows.findUnique(TABLES.account, [providerIdOf(issuer), subject]);
    return row && String(row['userId']);
  };
  return {
    personOf: async (identity) => {
      const owner = await ownerOf(identity);
      const row = owner === undefined ? undefined : await rows.find(TABLES.user, owner);
      return row?.[FIELD] === textOf(identity) ? personIn(row) : undefined;
    },
    link: async (user_id, identity, prepare) => {
      const before = await ownerOf(identity);
      if (before !== undefined && before !== user_id) return false;
      const text = textOf(identity);
      const named = await rows.change(TABLES.user, user_id, (row) =>
        issuerIn(row) === identity.issuer ? row : { ...row, [FIELD]: text },
      );
      if (named?.[FIELD] !== text) return false;
      await prepare();
      if (before === user_id) return true;
      try {
        const { internalAdapter } = (await library()).context;
        await internalAdapter.linkAccount({
          userId: user_id,
          providerId: providerIdOf(identity.issuer),
          accountId: identity.subject,
        });
        return true;
      } catch (error) {
        if (!(error instanceof RowExists)) throw error;
        if ((await ownerOf(identity)) === user_id) return true;
        // Another person got it at the same moment.
        await rows.change(TABLES.user, user_id, (row) =>
          row[FIELD] === text ? { ...row, [FIELD]: null } : row,
        );
        return false;
      }
    },
    issuerOf: async (user_id) => {
      const row = await rows.find(TABLES.user, user_id);
      return row && issuerIn(row);
    },
  };
};

/** Of the row of a person. */
const FIELD = 'identity';

const providerIdOf = (issuer: string): string => `oidc ${issuer}`;

const textOf = ({ issuer, subject }: IdentityId): string => `${issuer} ${subject}`;

/** An issuer has no space. */
const issuerIn = ({ [FIELD]: text }: Row): string | undefined =>
  typeof text === 'string' ? text.split(' ', 1)[0] : undefined;

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
