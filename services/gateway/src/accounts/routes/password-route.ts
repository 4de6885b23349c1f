import { NewPasswordRequest } from '@runledger/contracts/http/accounts/session';
import { notSignedIn } from '../../auth/identify-caller.ts';
import { openOperation, openRoute, type Route, type Visitor } from '../../http/operation.ts';
import { requestOf } from '../../http/request-context.ts';
import { Refused } from '../../http/refusal.ts';
import type { Person } from '../people.ts';
import type { AccountRoutes } from './account-routes.ts';
import { actorOf } from './begin-session.ts';
import { cameByLink } from './describe-session.ts';
import { presentSession } from './session-of.ts';

const passwordOperation = openOperation({
  id: 'changePassword',
  method: 'POST',
  path: '/account/password',
  tag: 'Accounts',
  scope: 'none',
  summary: 'Choose a password',
  description:
    'Of the person who is signed in. The present password is needed, unless the person has none, or signed in with a link within the last 15 minutes. All their other sessions end.',
  audit: { recordedWithin: 'password.changed' },
  request: { body: NewPasswordRequest },
  response: { status: 204, description: 'The password is changed.' },
  refusals: [],
});

export const passwordRoute = (options: AccountRoutes): Route => {
  const { accounts, record, now } = options;
  const { people, sessions } = accounts;
  return openRoute(passwordOperation, async ({ body }, visitor, ctx) => {
    const session = await presentSession(options, visitor);
    const person = await people.find(session.user_id);
    if (person === undefined) throw notSignedIn();
    if ((await people.hasPassword(person.id)) && !cameByLink(session, now()))
      await checkPassword(options, person, body.current_password ?? undefined, visitor);
    await record(
      {
        action: 'password.changed',
        org_id: session.org_id,
        actor: actorOf(session, visitor),
        target: { kind: 'password', id: person.id },
        request_id: requestOf(ctx).request_id,
      },
      async () => {
        await people.setPassword(person.id, body.password);
        await sessions.endOthers(person.id, session.id);
      },
    );
  });
};

/** It is counted as a sign-in: who finds a session must not guess the password with it. @throws {Refused} */
const checkPassword = async (
  { accounts: { people, limit } }: AccountRoutes,
  { email }: Person,
  password: string | undefined,
  { address }: Visitor,
): Promise<void> => {
  if (password === undefined) throw passwordWrong();
  await limit.attempt({ email, address }, async () => {
    if ((await people.withPassword(email, password)) === undefined) throw passwordWrong();
  });
};

const passwordWrong = (): Refused =>
  new Refused({
    code: 'current_password_wrong',
    why: 'The present password is missing or wrong: send it as current_password. Without it, ask an operator for a link',
  });
