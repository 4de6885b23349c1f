import { scopesOfMember } from '@runledger/contracts/accounts/roles';
import type { ApiKey } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Credential } from '../auth/identify-caller.ts';
import { Refused } from '../http/refusal.ts';
import type { Session, Sessions } from './sessions.ts';
import { hashOf } from './store/account-rows.ts';
import type { MemberRecords } from './store/member-records.ts';

/** What sessions permit. */
export interface SessionCallers {
  /**
   * Undefined when the session is unknown or has ended. The reads count only if a quorum of the brokers is in touch, as with keys (ADR 41).
   * @throws {Refused} when the person is no member of the organisation of the session @throws {LogUnavailable}
   */
  find(text: string): Promise<Credential | undefined>;
  /** Whether a session still permits what it did when `find` returned this. @throws {LogUnavailable} */
  isValid(key: ApiKey): Promise<boolean>;
}

export interface SessionCallersOptions {
  readonly log: Pick<EventLog, 'freshSequence'>;
  readonly sessions: Pick<Sessions, 'find' | 'findById'>;
  readonly members: Pick<MemberRecords, 'of'>;
}

export const sessionCallers = ({ log, sessions, members }: SessionCallersOptions): SessionCallers => {
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
