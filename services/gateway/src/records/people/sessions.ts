import { scopesOfMember, type ApiKey } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { notSignedIn, type Credential } from '../../door/caller.ts';
import { halvesOf, newSessionText } from '../../door/credentials.ts';
import { Refused } from '../../door/refusal.ts';
import { sha256Of } from '../keys/api-keys.ts';
import { hashOf, type Account, type AccountRecords, type SessionRecord } from './account-records.ts';
import type { MemberRecords } from './member-records.ts';
import { joined } from './people.ts';

/** A person is signed in. */
export interface Session extends SessionRecord {
  readonly user_id: string;
}

/** The sessions of people. Only a hash of the text of a session is stored. Every method may throw LogUnavailable. */
export interface Sessions {
  /** Undefined when it is unknown or has ended. */
  find(text: string): Promise<Session | undefined>;
  ofPerson(user_id: string, id: string): Promise<Session | undefined>;
  /** @throws {Refused} when the person is gone */
  begin(
    user_id: string,
    org_id: string | null,
    made_by: Session['made_by'],
  ): Promise<{ readonly text: string; readonly session: Session }>;
  choose(session: Session, org_id: string): Promise<void>;
  end(session: Session): Promise<void>;
}

/** A session is not prolonged: it ends a week after the sign-in. */
const SESSION_MS = 7 * 24 * 3_600_000;
/** The oldest ends when a person signs in once more. */
const MOST_OF_A_PERSON = 20;

export const sessions = (accounts: AccountRecords, time: () => Promise<Date>): Sessions => {
  const changeOne = (
    { id, user_id }: Session,
    change: (present: SessionRecord) => readonly SessionRecord[],
  ): Promise<Account | undefined> =>
    accounts.change(user_id, (account) => ({
      ...account,
      sessions: account.sessions.flatMap((one) => (one.id === id ? change(one) : [one])),
    }));
  const live = async (
    account: Account | undefined,
    isIt: (session: SessionRecord) => boolean,
  ): Promise<Session | undefined> => {
    const session = account?.sessions.find(isIt);
    if (!account || !session || session.expires_at <= (await time()).getTime()) return undefined;
    return { ...session, user_id: account.id };
  };
  return {
    find: async (text) => {
      if (halvesOf(text) === undefined) return undefined;
      const sha256 = sha256Of(text);
      return live(await accounts.find('session', sha256), (one) => one.sha256 === sha256);
    },
    ofPerson: async (user_id, id) => live(await accounts.find('id', user_id), (one) => one.id === id),
    begin: async (user_id, org_id, made_by) => {
      const [text, created_at] = [newSessionText(), (await time()).getTime()];
      const session: SessionRecord = {
        id: newUuid(),
        sha256: sha256Of(text),
        org_id,
        made_by,
        created_at,
        expires_at: created_at + SESSION_MS,
      };
      const begun = await accounts.change(user_id, (account) => ({
        ...joined(account),
        sessions: [...account.sessions.slice(1 - MOST_OF_A_PERSON), session],
      }));
      if (begun === undefined) throw notSignedIn();
      return { text, session: { ...session, user_id } };
    },
    choose: async (session, org_id) => {
      await changeOne(session, (present) => [{ ...present, org_id }]);
    },
    end: async (session) => {
      await changeOne(session, () => []);
    },
  };
};

/** In seconds: how long a link signs in, and how long whoever came by one may choose a password without the one that was lost. */
export const LINK_S = 15 * 60;

export const cameByLink = ({ made_by, created_at }: Session, now: Date): boolean =>
  made_by === 'link' && now.getTime() - created_at < LINK_S * 1_000;

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

export const sessionCallers = (log: EventLog, sessions: Sessions, members: MemberRecords): SessionCallers => {
  const keyOf = async (session: Session | undefined): Promise<ApiKey | undefined> => {
    if (session === undefined || session.org_id === null) return undefined;
    const { id, org_id, user_id } = session;
    const member = (await members.of(org_id)).find((one) => one.user_id === user_id);
    if (member === undefined) return undefined;
    const scopes = scopesOfMember(member);
    return {
      id,
      user_id,
      org_id,
      name: 'session',
      prefix: '',
      // Another role, or another organisation, is another key.
      sha256: hashOf(id, org_id, ...scopes),
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
      const key = await keyOf(session);
      await log.freshSequence?.();
      if (session === undefined) return undefined;
      if (key === undefined) throw notChosen();
      return { key, session: { id: session.id } };
    },
    isValid: async ({ id, user_id, sha256 }) => {
      const key = await keyOf(await sessions.ofPerson(user_id, id));
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
