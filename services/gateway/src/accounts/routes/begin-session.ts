import type { SessionItem } from '@runledger/contracts/http/accounts/session';
import type { Context } from 'koa';
import type { AccountRoutes } from './account-routes.ts';
import { requestOf } from '../../http/request-context.ts';
import type { Visitor } from '../../http/operation.ts';
import type { Person } from '../people.ts';
import type { MadeBy, Session } from '../sessions.ts';
import { describeSession } from './describe-session.ts';
import { sessionOf } from './session-of.ts';

export interface SignedIn {
  readonly person: Person;
  /** Where requests act; the first organisation of the person when left out. */
  readonly org_id?: string | undefined;
  readonly made_by: MadeBy;
}

/**
 * Signs a person in: the response has both halves of the session. A session of the same browser ends. It is recorded, or the person is
 * not signed in.
 * @throws {AuditNotStored} @throws {LogUnavailable}
 */
export const beginSession = async (
  options: AccountRoutes,
  { ctx, visitor }: { readonly ctx: Context; readonly visitor: Visitor },
  { person, org_id, made_by }: SignedIn,
): Promise<SessionItem> => {
  const { accounts, halves, record } = options;
  const { sessions, memberships } = accounts;
  const chosen = org_id ?? (await memberships.of(person.id))[0]?.id ?? null;
  const { text, session } = await sessions.begin(person.id, chosen, made_by);
  try {
    await record(
      {
        action: 'session.created',
        org_id: chosen,
        actor: actorOf(session, visitor),
        target: { kind: 'session', id: session.id },
        request_id: requestOf(ctx).request_id,
        details: { by: made_by },
      },
      async () => undefined,
    );
  } catch (error) {
    // Nobody knows its text.
    await sessions.end(session.id);
    throw error;
  }
  const former = await sessionOf(options, visitor);
  if (former) await sessions.end(former.id);
  halves.give(ctx, text, new Date(session.expires_at));
  return describeSession(options, session);
};

/** For the audit records of what a person does with a session. */
export const actorOf = ({ id, user_id, org_id }: Session, { address }: Pick<Visitor, 'address'>) =>
  ({ kind: 'session', session_id: id, user_id, org_id, address }) as const;
