import { notSignedIn } from '../../auth/identify-caller.ts';
import { halfSession } from '../../auth/session/session-halves.ts';
import type { Visitor } from '../../http/operation.ts';
import type { Session } from '../sessions.ts';
import type { AccountRoutes } from './account-routes.ts';

type Options = Pick<AccountRoutes, 'accounts'>;

/** The session of a visitor; undefined when it has ended, and for one half of a session. @throws {LogUnavailable} */
export const sessionOf = async (
  { accounts: { sessions } }: Options,
  { session }: Pick<Visitor, 'session'>,
): Promise<Session | undefined> => (session.kind === 'whole' ? sessions.find(session.text) : undefined);

/** The same, where it is needed. @throws {Refused} that says what is missing @throws {LogUnavailable} */
export const presentSession = async (
  options: Options,
  visitor: Pick<Visitor, 'session'>,
): Promise<Session> => {
  if (visitor.session.kind === 'half') throw halfSession(visitor.session.lacks);
  const session = await sessionOf(options, visitor);
  if (session === undefined) throw notSignedIn();
  return session;
};
