import { SessionChange, SessionItem, SignInRequest } from '@runledger/contracts/http/accounts/session';
import { halfSession } from '../../auth/session/session-halves.ts';
import { openOperation, openRoute, type Route } from '../../http/operation.ts';
import { requestOf } from '../../http/request-context.ts';
import { notFound, Refused } from '../../http/refusal.ts';
import type { AccountRoutes } from './account-routes.ts';
import { actorOf, beginSession } from './begin-session.ts';
import { describeSession } from './describe-session.ts';
import { presentSession, sessionOf } from './session-of.ts';

const shared = { tag: 'Accounts', scope: 'none', path: '/session' } as const;

const getOperation = openOperation({
  ...shared,
  id: 'getSession',
  method: 'GET',
  summary: 'Read who is signed in',
  description:
    'Whose session the request has, and where requests with it act. A session has two halves, which a sign-in gives: a cookie, which the browser sends by itself, and a token in the response header `Runledger-Session`, which the page keeps and sends in the request header of this name. A request with both, and without an API key, is made in the name of this person, with the scopes of their role in the organisation. One half is refused with `session_incomplete` wherever a session is needed; here it is nobody.',
  request: {},
  response: {
    status: 200,
    description: 'The session; nobody without one.',
    body: SessionItem,
    holdsSecret: true,
  },
  refusals: [],
});

const signInOperation = openOperation({
  ...shared,
  id: 'signIn',
  method: 'POST',
  summary: 'Sign in with a password',
  description:
    'The session ends after a week. After five wrong passwords a person waits, longer each time; so does an address after twenty. One of them is forgotten in half a minute.',
  audit: { recordedWithin: 'session.created' },
  request: { body: SignInRequest },
  response: {
    status: 200,
    description: 'The session.',
    body: SessionItem,
    holdsSecret: true,
    beginsSession: true,
  },
  refusals: [],
});

const signOutOperation = openOperation({
  ...shared,
  id: 'signOut',
  method: 'DELETE',
  summary: 'Sign out',
  description: 'The session ends everywhere within a second. Without a session, nothing is done.',
  audit: { recordedWithin: 'session.ended' },
  request: {},
  response: { status: 204, description: 'Nobody is signed in any more.' },
  refusals: [],
});

const chooseOperation = openOperation({
  ...shared,
  id: 'chooseOrganisation',
  method: 'PATCH',
  summary: 'Choose the organisation of a session',
  description:
    'Requests with the session act in this organisation from now on, in all windows of the browser.',
  audit: { unrecorded: 'the person may act in it already' },
  request: { body: SessionChange },
  response: { status: 200, description: 'The session.', body: SessionItem, holdsSecret: true },
  refusals: [404],
});

export const sessionRoutes = (options: AccountRoutes): Route[] => {
  const { accounts, halves, record, onRefused } = options;
  const { people, sessions, memberships, limit } = accounts;
  return [
    openRoute(getOperation, async (_request, visitor) =>
      describeSession(options, await sessionOf(options, visitor)),
    ),
    openRoute(signInOperation, async ({ body: { email, password } }, visitor, ctx) => {
      const { address } = visitor;
      const person = await limit.attempt({ email, address }, async () => {
        const known = await people.withPassword(email, password);
        if (known) return known;
        onRefused({ why: 'sign_in', address: address ?? undefined });
        throw signInRefused();
      });
      return beginSession(options, { ctx, visitor }, { person, made_by: 'password' });
    }),
    openRoute(signOutOperation, async (_request, visitor, ctx) => {
      if (visitor.session.kind === 'half') throw halfSession(visitor.session.lacks);
      halves.clear(ctx);
      const session = await sessionOf(options, visitor);
      if (session === undefined) return;
      await record(
        {
          action: 'session.ended',
          org_id: session.org_id,
          actor: actorOf(session, visitor),
          target: { kind: 'session', id: session.id },
          request_id: requestOf(ctx).request_id,
        },
        () => sessions.end(session.id),
      );
    }),
    openRoute(chooseOperation, async ({ body }, visitor) => {
      const session = await presentSession(options, visitor);
      const org_id = body.organisation_id.toLowerCase();
      const organisations = await memberships.of(session.user_id);
      if (!organisations.some(({ id }) => id === org_id)) throw notFound('Organisation');
      await sessions.choose(session.id, org_id);
      return describeSession(options, { ...session, org_id });
    }),
  ];
};

export const signInRefused = (): Refused =>
  new Refused({ code: 'sign_in_refused', why: 'The e-mail and the password do not belong together' });
