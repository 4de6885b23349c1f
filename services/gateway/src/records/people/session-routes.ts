import { SessionChange, SessionItem, SignInRequest } from '@runledger/contracts/http/accounts';
import type { Context } from 'koa';
import { scopesOfMember } from '@runledger/contracts/catalogue/records';
import { halfSession } from '../../door/credentials.ts';
import { openOperation, openRoute, requestOf, type Route, type Visitor } from '../../door/operation.ts';
import { notFound, Refused } from '../../door/refusal.ts';
import type { AccountOperations } from './accounts.ts';
import type { Person } from './people.ts';
import { cameByLink, type Session } from './sessions.ts';
import { notSignedIn } from '../../door/caller.ts';

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
});

/** Of an operation that signs somebody in. */
export const SESSION_BEGUN = {
  status: 200,
  description: 'The session.',
  body: SessionItem,
  holdsSecret: true,
  beginsSession: true,
} as const;

const signInOperation = openOperation({
  ...shared,
  id: 'signIn',
  method: 'POST',
  summary: 'Sign in with a password',
  description:
    'The session ends after a week. After five wrong passwords a person waits, longer each time; so does an address after twenty. One of them is forgotten in half a minute.',
  audit: { recordedWithin: 'session.created' },
  request: { body: SignInRequest },
  response: SESSION_BEGUN,
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

export const sessionRoutes = (options: AccountOperations): Route[] => {
  const { accounts, halves, audit } = options;
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
        audit.refused.count({ why: 'sign_in', address: address ?? undefined });
        throw signInRefused();
      });
      return beginSession(options, { ctx, visitor }, { person, made_by: 'password' });
    }),
    openRoute(signOutOperation, async (_request, visitor, ctx) => {
      if (visitor.session.kind === 'half') throw halfSession(visitor.session.lacks);
      halves.clear(ctx);
      const session = await sessionOf(options, visitor);
      if (session === undefined) return;
      await audit.record(
        {
          action: 'session.ended',
          org_id: session.org_id,
          actor: actorOf(session, visitor),
          target: { kind: 'session', id: session.id },
          request_id: requestOf(ctx).request_id,
        },
        () => sessions.end(session),
      );
    }),
    openRoute(chooseOperation, async ({ body }, visitor) => {
      const session = await presentSession(options, visitor);
      const org_id = body.organisation_id.toLowerCase();
      const organisations = await memberships.of(session.user_id);
      if (!organisations.some(({ id }) => id === org_id)) throw notFound('Organisation');
      await sessions.choose(session, org_id);
      return describeSession(options, { ...session, org_id });
    }),
  ];
};

export const signInRefused = (): Refused =>
  new Refused({ code: 'sign_in_refused', why: 'The e-mail and the password do not belong together' });

export interface SignedIn {
  readonly person: Person;
  /** Where requests act; the first organisation of the person when left out. */
  readonly org_id?: string | undefined;
  readonly made_by: Session['made_by'];
}

/**
 * Signs a person in: the response has both halves of the session. A session of the same browser ends. It is recorded, or the person is
 * not signed in.
 * @throws {AuditNotStored} @throws {LogUnavailable}
 */
export const beginSession = async (
  options: AccountOperations,
  { ctx, visitor }: { readonly ctx: Context; readonly visitor: Visitor },
  { person, org_id, made_by }: SignedIn,
): Promise<SessionItem> => {
  const { accounts, halves, audit } = options;
  const { sessions, memberships } = accounts;
  const chosen = org_id ?? (await memberships.of(person.id))[0]?.id ?? null;
  const { text, session } = await sessions.begin(person.id, chosen, made_by);
  try {
    await audit.record(
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
    await sessions.end(session);
    throw error;
  }
  const former = await sessionOf(options, visitor);
  if (former) await sessions.end(former);
  halves.give(ctx, text, new Date(session.expires_at));
  return describeSession(options, session);
};

/** For the audit records of what a person does with a session. */
export const actorOf = ({ id, user_id, org_id }: Session, { address }: Visitor) =>
  ({ kind: 'session', session_id: id, user_id, org_id, address }) as const;

/** What a page needs to know of a session; of nobody when it has ended. @throws {LogUnavailable} */
export const describeSession = async (
  { accounts: { people, memberships, time }, provider }: AccountOperations,
  session: Session | undefined,
): Promise<SessionItem> => {
  const offered: Pick<SessionItem, 'sign_in' | 'provider'> = {
    sign_in: provider ? ['password', 'oidc'] : ['password'],
    provider: provider ? { name: provider.name } : null,
  };
  const user = session && (await people.find(session.user_id));
  if (session === undefined || user === undefined) return { ...NOBODY, ...offered };
  const [organisations, { password: has_password, issuer }, now] = await Promise.all([
    memberships.of(user.id),
    people.waysOf(user.id),
    time(),
  ]);
  const present = organisations.find(({ id }) => id === session.org_id);
  return {
    user: { id: user.id, email: user.email, name: user.name },
    organisations,
    organisation: present ? { ...present, scopes: scopesOfMember(present) } : null,
    has_password,
    has_identity: issuer !== undefined && issuer === provider?.issuer,
    needs_current_password: has_password && !cameByLink(session, now),
    expires_at: new Date(session.expires_at).toISOString(),
    ...offered,
  };
};

const NOBODY: Omit<SessionItem, 'sign_in' | 'provider'> = {
  user: null,
  organisations: [],
  organisation: null,
  has_password: false,
  has_identity: false,
  needs_current_password: false,
  expires_at: null,
};

/** The session of a visitor; undefined when it has ended, and for one half of a session. @throws {LogUnavailable} */
export const sessionOf = async (
  { accounts: { sessions } }: AccountOperations,
  { session }: Visitor,
): Promise<Session | undefined> => (session.kind === 'whole' ? sessions.find(session.text) : undefined);

/** The same, where it is needed. @throws {Refused} that says what is missing @throws {LogUnavailable} */
export const presentSession = async (options: AccountOperations, visitor: Visitor): Promise<Session> => {
  if (visitor.session.kind === 'half') throw halfSession(visitor.session.lacks);
  const session = await sessionOf(options, visitor);
  if (session === undefined) throw notSignedIn();
  return session;
};
