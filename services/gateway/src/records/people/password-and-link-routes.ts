import {
  LinkSignInRequest,
  NewLinkRequest,
  SignInLinkItem,
  NewPasswordRequest,
} from '@runledger/contracts/http/accounts';
import {
  openOperation,
  openRoute,
  operation,
  route,
  requestOf,
  type Route,
  type Visitor,
} from '../../door/operation.ts';
import { notFound, Refused } from '../../door/refusal.ts';
import { makerOf } from './member-records.ts';
import { signInPage } from './sign-in-links.ts';
import type { AccountOperations } from './accounts.ts';
import { addMember } from './member-routes.ts';
import { beginSession, actorOf, presentSession, SESSION_BEGUN } from './session-routes.ts';
import { cameByLink } from './sessions.ts';
import { notSignedIn } from '../../door/caller.ts';
import type { Person } from './people.ts';

const signInOperation = openOperation({
  id: 'signInWithLink',
  method: 'POST',
  path: '/session/link',
  tag: 'Accounts',
  scope: 'none',
  summary: 'Sign in with a link',
  description:
    'A link signs in once, within 15 minutes. Afterwards the person may choose a password without the present one.',
  audit: { recordedWithin: 'session.created' },
  request: { body: LinkSignInRequest },
  response: SESSION_BEGUN,
  refusals: [410],
});

const createOperation = operation({
  id: 'makeSignInLink',
  method: 'POST',
  path: '/accounts/links',
  tag: 'Accounts',
  scope: 'operator',
  summary: 'Make a link that signs a person in',
  description:
    'For a member of the organisation of the calling key who cannot sign in any more. It replaces an earlier link of the person.',
  audit: { action: 'link.created', keeps: ['expires_at'] },
  request: { body: NewLinkRequest },
  response: {
    status: 201,
    description: 'The link. It is not shown again.',
    body: SignInLinkItem,
    holdsSecret: true,
  },
  refusals: [404],
});

export const linkRoutes = (options: AccountOperations): Route[] => {
  const { accounts, kit } = options;
  const { links, memberships } = accounts;
  return [
    openRoute(signInOperation, async ({ body }, visitor, ctx) => {
      const used = await links.use(body.token, (person, org_id) =>
        addMember(options, { person, org_id, role: 'owner', operator: true }, { ctx, visitor }),
      );
      if (used === undefined) throw linkGone();
      const { person, owner_of: org_id } = used;
      return beginSession(options, { ctx, visitor }, { person, org_id, made_by: 'link' });
    }),
    route(createOperation, async ({ body }, caller) => {
      const { org_id } = caller;
      const email = body.email.toLowerCase();
      const members = await memberships.list(org_id);
      if (!members.some((member) => member.email === email)) throw notFound('Member');
      const link = await links.create({ email, made_by: makerOf(caller) });
      return { email, ...link, url: signInPage(kit.publicUrl(), link) };
    }),
  ];
};

const linkGone = (): Refused =>
  new Refused({
    code: 'sign_in_link_gone',
    why: 'This link was used already, or it has ended: it signs in once, within 15 minutes. An operator makes another one with "runledger accounts link EMAIL", and a standalone prints one at each start',
  });

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
});

export const passwordRoute = (options: AccountOperations): Route => {
  const { accounts, audit } = options;
  const { people, time } = accounts;
  return openRoute(passwordOperation, async ({ body }, visitor, ctx) => {
    const session = await presentSession(options, visitor);
    const person = await people.find(session.user_id);
    if (person === undefined) throw notSignedIn();
    const { password: hasPassword } = await people.waysOf(person.id);
    if (hasPassword && !cameByLink(session, await time()))
      await checkPassword(options, person, body.current_password ?? undefined, visitor);
    await audit.record(
      {
        action: 'password.changed',
        org_id: session.org_id,
        actor: actorOf(session, visitor),
        target: { kind: 'password', id: person.id },
        request_id: requestOf(ctx).request_id,
      },
      () => people.setPassword(person.id, body.password, session.id),
    );
  });
};

/** It is counted as a sign-in: who finds a session must not guess the password with it. @throws {Refused} */
const checkPassword = async (
  { accounts: { people, limit } }: AccountOperations,
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
