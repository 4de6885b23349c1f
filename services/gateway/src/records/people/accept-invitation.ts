import { InvitationPreview, InvitationPreviewRequest } from '@runledger/contracts/http/invitations';
import { AcceptInvitationRequest, SHORTEST_PASSWORD } from '@runledger/contracts/http/accounts';
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
import { beginSession, describeSession, SESSION_BEGUN, sessionOf, signInRefused } from './session-routes.ts';
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
  response: SESSION_BEGUN,
  refusals: [409, 410],
});

export const acceptRoutes = (options: AccountOperations): Route[] => {
  const { accounts, kit } = options;
  return [
    openRoute(previewOperation, async ({ body: { token } }) => {
      const invitation = await invitationOf(options, token);
      const { org_id, email, role, expires_at, made_by } = invitation;
      const organisation = await catalogue(kit.log).getOrganisation(org_id);
      if (organisation === undefined || !isOpen(invitation, await accounts.time())) throw invitationGone();
      return {
        organisation: { id: organisation.id, name: organisation.name },
        email,
        role,
        expires_at,
        may_create_account: await accounts.mayStill(made_by, 'operator'),
      };
    }),
    openRoute(acceptOperation, async ({ body }, visitor, ctx) => {
      const invitation = await invitationToAccept(options, body, visitor);
      const { person, session } = await personFor(options, invitation, body, visitor);
      await acceptInvitation(options, invitation, person, { ctx, visitor });
      const { org_id } = invitation;
      if (session === undefined)
        return beginSession(options, { ctx, visitor }, { person, org_id, made_by: 'invitation' });
      await accounts.sessions.choose(session, org_id);
      return describeSession(options, { ...session, org_id });
    }),
  ];
};

/** Without a session a password is required, whatever the invitation is. @throws {Refused} */
const invitationToAccept = async (
  options: AccountOperations,
  { token, password }: Static<typeof AcceptInvitationRequest>,
  visitor: Visitor,
): Promise<Invitation> => {
  const invitation = await findInvitation(options, token);
  if (invitation !== undefined) return invitation;
  if (typeof password !== 'string' && (await sessionOf(options, visitor)) === undefined)
    throw invalidRequest(
      invalid(['body', 'password'], 'missing', 'This is required without a session: send it'),
    );
  throw invitationGone();
};

/** Somebody who has proved to be the one who is invited. */
interface Invited {
  readonly person: Person;
  /** Of somebody who is signed in already. */
  readonly session?: NonNullable<Awaited<ReturnType<typeof sessionOf>>>;
}

/**
 * The one who accepts. Whoever made the link has it too, so an account needs its own proof, and so does an e-mail without one. What an owner of
 * an organisation learns here is the same whether there is an account or not. @throws {Refused}
 */
const personFor = async (
  options: AccountOperations,
  invitation: Invitation,
  { name, password }: Static<typeof AcceptInvitationRequest>,
  visitor: Visitor,
): Promise<Invited> => {
  const { people, limit, mayStill } = options.accounts;
  const { email, made_by, org_id } = invitation;
  await refuseClosed(options, invitation);
  const known = await people.findByEmail(email);
  const session = await sessionOf(options, visitor);
  if (known && session?.user_id === known.id) return { person: known, session };
  const mayCreate = await mayStill(made_by, 'operator');
  if (!mayCreate || (known !== undefined && known.joining === undefined)) {
    if (typeof password !== 'string') throw signInFirst(mayCreate);
    const { address } = visitor;
    const person = await limit.attempt({ email, address }, async () => {
      const proved = await people.withPassword(email, password);
      if (proved) return proved;
      options.audit.refused.count({ why: 'sign_in', address: address ?? undefined });
      throw mayCreate ? signInRefused() : signInFirst(mayCreate);
    });
    return { person };
  }
  const chosen = newAccount(name, password);
  const joining = { org_id, password: chosen.password };
  const person = await (known
    ? people.takeUp(known, chosen.name, joining)
    : people.create(email, chosen.name, joining));
  if (person === undefined) throw signInFirst(mayCreate);
  return { person };
};

/** What a new account needs. @throws {Refused} */
const newAccount = (
  name: string | null | undefined,
  password: string | null | undefined,
): { readonly name: string; readonly password: string } => {
  const isLong = typeof password === 'string' && password.length >= SHORTEST_PASSWORD;
  if (typeof name === 'string' && isLong) return { name, password };
  throw invalidRequest(
    ...(typeof name === 'string' ? [] : [invalid(['body', 'name'], 'missing', 'This is required: send it')]),
    ...(isLong
      ? []
      : [invalid(['body', 'password'], 'string_too_short', `Send at least ${SHORTEST_PASSWORD} characters`)]),
  );
};

const signInFirst = (mayCreate: boolean): Refused =>
  new Refused({
    code: 'sign_in_refused',
    why: mayCreate
      ? 'The person with this e-mail has an account: sign in with it first, or send its password'
      : 'This invitation is for an account that exists, since no operator made it: sign in first with the e-mail that is invited, or send the password of its account. Without an account, sign in with the provider, or ask an operator of this installation to invite you',
  });

/** Undefined for a token that belongs to no invitation, or to one of somebody who may not invite any more. */
const findInvitation = async (
  { accounts: { invitations, mayStill } }: AccountOperations,
  token: string,
): Promise<Invitation | undefined> => {
  const read = readLinkToken(token);
  const [org_id = '', id = ''] = read?.names ?? [];
  const invitation = isUuid(org_id) && isUuid(id) ? await invitations.find(org_id, id) : undefined;
  if (read === undefined || invitation === undefined || !isOfLink(read, invitation.sha256)) return undefined;
  return (await mayStill(invitation.made_by, scopeToInvite(invitation))) ? invitation : undefined;
};

/** @throws {Refused} for what `findInvitation` does not find */
export const invitationOf = async (options: AccountOperations, token: string): Promise<Invitation> => {
  const invitation = await findInvitation(options, token);
  if (invitation === undefined) throw invitationGone();
  return invitation;
};

/** Into another organisation only operators invite. */
const scopeToInvite = ({ org_id, made_by }: Invitation): KeyScope =>
  made_by.org_id === org_id ? 'admin' : 'operator';

/** @throws {Refused} once it has ended */
export const refuseClosed = async (
  { accounts }: AccountOperations,
  invitation: Invitation,
): Promise<void> => {
  if (!isOpen(invitation, await accounts.time())) throw invitationGone();
};

/**
 * An invitation is for one e-mail, and so for one person. Of two who join with it at once, who do not know each other's passwords, the one who
 * has taken the account up last becomes the member. It is erased last: an interrupted acceptance can be repeated. @throws {Refused}
 */
export const acceptInvitation = async (
  options: AccountOperations,
  invitation: Invitation,
  person: Person,
  by: { readonly ctx: Context; readonly visitor: Visitor },
): Promise<void> => {
  const { invitations, mayStill } = options.accounts;
  const { id, org_id, role, made_by } = invitation;
  const as = { org_id, person, role, operator: false };
  const stands = async (): Promise<boolean> => {
    // It is gone when the same person has accepted it twice at once.
    const present = await invitations.find(org_id, id);
    return !(present && isRevoked(present)) && (await mayStill(made_by, scopeToInvite(invitation)));
  };
  await addMember(options, as, by, { action: 'invitation.accepted', id, made_by, stands });
  await invitations.erase(org_id, id);
};
