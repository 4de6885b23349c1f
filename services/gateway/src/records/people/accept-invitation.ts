import { InvitationPreview, InvitationPreviewRequest } from '@runledger/contracts/http/invitations';
import { AcceptInvitationRequest, SessionItem, SHORTEST_PASSWORD } from '@runledger/contracts/http/accounts';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { Static } from 'typebox';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { isUuid } from '@runledger/contracts/ids';
import type { Context } from 'koa';
import { openOperation, openRoute, type Route, type Visitor } from '../../door/operation.ts';
import { invalid, invalidRequest, Refused } from '../../door/refusal.ts';
import type { Person } from './people.ts';
import { isOpen, isRevoked, type Invitation } from './member-records.ts';
import { catalogue } from '../catalogue/catalogue.ts';
import type { AccountOperations } from './accounts.ts';
import { beginSession, describeSession, sessionOf, signInRefused } from './session-routes.ts';
import { invitationGone, addMember } from './member-routes.ts';
import { isOfLink, readLinkToken } from './sign-in-links.ts';

const shared = { tag: 'Accounts', scope: 'none', method: 'POST' } as const;

const previewOperation = openOperation({
  ...shared,
  id: 'previewInvitation',
  path: '/invitations/preview',
  summary: 'Read the invitation of a link',
  audit: { unrecorded: 'it changes nothing' },
  request: { body: InvitationPreviewRequest },
  response: { status: 200, description: 'What it is for.', body: InvitationPreview, holdsSecret: true },
  refusals: [410],
});

const acceptOperation = openOperation({
  ...shared,
  id: 'acceptInvitation',
  path: '/invitations/accept',
  summary: 'Accept an invitation',
  description:
    'Whoever has an account with the e-mail of the invitation is signed in with it, or sends its password. Whoever has none gets one, with this name and password, if an operator invites: nobody else answers for an e-mail. Otherwise the person signs in with the provider, which has verified the e-mail. Requests with the session then act in the organisation of the invitation.',
  audit: { recordedWithin: 'invitation.accepted' },
  request: { body: AcceptInvitationRequest },
  response: {
    status: 200,
    description: 'The session.',
    body: SessionItem,
    holdsSecret: true,
    beginsSession: true,
  },
  refusals: [409, 410],
});

export const acceptRoutes = (options: AccountOperations): Route[] => {
  const { accounts, kit } = options;
  return [
    openRoute(previewOperation, async ({ body: { token } }) => {
      const { value: invitation } = await invitationOf(options, token);
      const { org_id, email, role, expires_at, made_by } = invitation;
      const organisation = await catalogue(kit.log).getOrganisation(org_id);
      if (organisation === undefined || !isOpen(invitation, options.kit.now())) throw invitationGone();
      return {
        organisation: { id: organisation.id, name: organisation.name },
        email,
        role,
        expires_at,
        may_create_account: await accounts.mayStill(made_by, 'operator'),
      };
    }),
    openRoute(acceptOperation, async ({ body }, visitor, ctx) => {
      const entry = await invitationToAccept(options, body, visitor);
      const invited = await personFor(options, entry.value, body, visitor);
      await acceptInvitation(options, entry, invited, { ctx, visitor });
      const { org_id } = entry.value;
      const { person, session } = invited;
      if (session === undefined)
        return beginSession(options, { ctx, visitor }, { person, org_id, made_by: 'invitation' });
      await accounts.sessions.choose(session.id, org_id);
      return describeSession(options, { ...session, org_id });
    }),
  ];
};

/** Without a session a password is required, whatever the invitation is. @throws {Refused} */
const invitationToAccept = async (
  options: AccountOperations,
  { token, password }: Static<typeof AcceptInvitationRequest>,
  visitor: Visitor,
): Promise<Entry<Invitation>> => {
  const entry = await findInvitation(options, token);
  if (entry !== undefined) return entry;
  if (typeof password !== 'string' && (await sessionOf(options, visitor)) === undefined)
    throw invalidRequest(invalid(['body', 'password'], 'missing', 'Field required, or a session'));
  throw invitationGone();
};

interface Invited extends Accepting {
  /** Of somebody who is signed in already. */
  readonly session?: NonNullable<Awaited<ReturnType<typeof sessionOf>>>;
}

/**
 * The one who accepts. Whoever made the link has it too, so an account needs its own proof, and so does an e-mail without one. What an owner of
 * an organisation learns here is the same whether there is an account or not. @throws {Refused}
 */
const personFor = async (
  options: AccountOperations,
  { email, ...invitation }: Invitation,
  { name, password }: Static<typeof AcceptInvitationRequest>,
  visitor: Visitor,
): Promise<Invited> => {
  const { people, limit, mayStill } = options.accounts;
  const known = await people.findByEmail(email);
  refuseClosed({ email, ...invitation }, known, options.kit.now());
  const session = await sessionOf(options, visitor);
  if (known && session?.user_id === known.id) return { person: known, session, isNew: false };
  const mayCreate = await mayStill(invitation.made_by, 'operator');
  if (!mayCreate || (known && (await isUsed(options, known)))) {
    if (typeof password !== 'string') throw signInFirst(mayCreate);
    const { address } = visitor;
    const person = await limit.attempt({ email, address }, async () => {
      const proved = await people.withPassword(email, password);
      if (proved) return proved;
      options.audit.refused.count({ why: 'sign_in', address: address ?? undefined });
      throw mayCreate ? signInRefused() : signInFirst(mayCreate);
    });
    return { person, isNew: false };
  }
  const chosen = newAccount(name, password);
  const person = known ?? (await people.create(email, chosen.name));
  if (person === undefined) throw signInFirst(mayCreate);
  await people.setPassword(person.id, chosen.password);
  return { person, isNew: true };
};

/** Else it is left of an acceptance that was interrupted before its person had anything. */
const isUsed = async (
  { accounts: { people, memberships, identities } }: AccountOperations,
  { id }: Person,
): Promise<boolean> =>
  (await people.hasPassword(id)) ||
  (await identities.issuerOf(id)) !== undefined ||
  (await memberships.of(id)).length > 0;

/** What a new account needs. @throws {Refused} */
const newAccount = (
  name: string | null | undefined,
  password: string | null | undefined,
): { readonly name: string; readonly password: string } => {
  const isLong = typeof password === 'string' && password.length >= SHORTEST_PASSWORD;
  if (typeof name === 'string' && isLong) return { name, password };
  throw invalidRequest(
    ...(typeof name === 'string' ? [] : [invalid(['body', 'name'], 'missing', 'Field required')]),
    ...(isLong
      ? []
      : [
          invalid(
            ['body', 'password'],
            'string_too_short',
            `String should have at least ${SHORTEST_PASSWORD} characters`,
          ),
        ]),
  );
};

const signInFirst = (mayCreate: boolean): Refused =>
  new Refused({
    code: 'sign_in_refused',
    why: mayCreate
      ? 'The person with this e-mail has an account: sign in with it first, or send its password'
      : 'This invitation is for an account that exists, since no operator made it: sign in first with the e-mail that is invited, or send the password of its account. Without an account, sign in with the provider, or ask an operator of this installation to invite you',
  });

/** Somebody who has proved to be the one who is invited. */
export interface Accepting {
  readonly person: Person;
  /** The account was made just now. */
  readonly isNew: boolean;
}

/** Undefined for a token that belongs to no invitation, or to one of somebody who may not invite any more. */
const findInvitation = async (
  { accounts: { invitations, mayStill } }: AccountOperations,
  token: string,
): Promise<Entry<Invitation> | undefined> => {
  const read = readLinkToken(token);
  const [org_id = '', id = ''] = read?.names ?? [];
  const entry = isUuid(org_id) && isUuid(id) ? await invitations.find(org_id, id) : undefined;
  if (read === undefined || entry === undefined || !isOfLink(read, entry.value.sha256)) return undefined;
  return (await mayStill(entry.value.made_by, scopeToInvite(entry.value))) ? entry : undefined;
};

/** @throws {Refused} for what `findInvitation` does not find */
export const invitationOf = async (options: AccountOperations, token: string): Promise<Entry<Invitation>> => {
  const entry = await findInvitation(options, token);
  if (entry === undefined) throw invitationGone();
  return entry;
};

/** Into another organisation only operators invite. */
const scopeToInvite = ({ org_id, made_by }: Invitation): KeyScope =>
  made_by.org_id === org_id ? 'admin' : 'operator';

/** An interrupted acceptance can be repeated by the same person, while it is open. @throws {Refused} for anybody else, and once it has ended */
export const refuseClosed = (
  invitation: Invitation,
  person: Pick<Person, 'id'> | undefined,
  now: Date,
): void => {
  const { accepted_by } = invitation;
  const isOfAnother = accepted_by !== undefined && accepted_by !== person?.id;
  if (isOfAnother || !isOpen(invitation, now)) throw invitationGone();
};

/** It is claimed first: of two people one accepts it, and an interrupted acceptance can be repeated. @throws {Refused} */
export const acceptInvitation = async (
  options: AccountOperations,
  entry: Entry<Invitation>,
  { person, isNew }: Accepting,
  by: { readonly ctx: Context; readonly visitor: Visitor },
): Promise<void> => {
  const { invitations, people, memberships, mayStill } = options.accounts;
  const { id, org_id, role, made_by } = entry.value;
  if (!(await invitations.claim(entry, person.id))) {
    if (isNew && (await memberships.of(person.id)).length === 0) await people.remove(person.id);
    throw invitationGone();
  }
  const as = { org_id, person, role, operator: false };
  const stands = async (): Promise<boolean> => {
    // It is gone when the same person has accepted it twice at once.
    const present = await invitations.find(org_id, id);
    return !(present && isRevoked(present.value)) && (await mayStill(made_by, scopeToInvite(entry.value)));
  };
  await addMember(options, as, by, { action: 'invitation.accepted', id, made_by, stands });
  await invitations.erase(org_id, id);
};
