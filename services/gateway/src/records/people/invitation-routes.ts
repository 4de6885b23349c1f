import {
  CreatedInvitationItem,
  InvitationList,
  InvitationPath,
  NewInvitationRequest,
  type InvitationItem,
} from '@runledger/contracts/http/invitations';
import { allows } from '@runledger/contracts/scopes';
import { newUuid } from '@runledger/contracts/ids';
import { lacksScope } from '../../door/caller.ts';
import { operation, route, type Caller, type Route } from '../../door/operation.ts';
import { notFound, Refused } from '../../door/refusal.ts';
import { MOST_MEMBERS, makerOf, type Invitation } from './member-records.ts';
import { newLinkToken } from './sign-in-links.ts';
import { catalogue } from '../catalogue/catalogue.ts';
import type { AccountOperations } from './accounts.ts';
import { tooManyMembers } from './member-routes.ts';

const shared = { tag: 'Accounts', scope: 'admin' } as const;

const INVITATION_MS = 7 * 24 * 3_600_000;

const createOperation = operation({
  ...shared,
  id: 'createInvitation',
  method: 'POST',
  path: '/invitations',
  summary: 'Invite a person',
  description:
    'The response has a link, which you send to the person. It can be accepted once, within 7 days, by the person with this e-mail only: one who has an account signs in to accept it. A person without one gets it if you are an operator, who answers for the e-mail, or signs in with the provider. An operator may invite into any organisation.',
  audit: { action: 'invitation.created', keeps: ['role', 'expires_at', 'organisation_id'] },
  request: { body: NewInvitationRequest },
  response: {
    status: 201,
    description: 'The invitation. Its link is not shown again.',
    links: { to: ['revokeInvitation'], parameters: { invitation_id: '/id' } },
    body: CreatedInvitationItem,
    holdsSecret: true,
  },
  refusals: [404, 409],
});

const listOperation = operation({
  ...shared,
  id: 'listInvitations',
  method: 'GET',
  path: '/invitations',
  summary: 'List the open invitations',
  request: {},
  response: { status: 200, description: 'All that can be accepted.', body: InvitationList },
  refusals: [],
});

const revokeOperation = operation({
  ...shared,
  id: 'revokeInvitation',
  method: 'DELETE',
  path: '/invitations/{invitation_id}',
  summary: 'Revoke an invitation',
  audit: { action: 'invitation.revoked', target: 'invitation_id' },
  request: { path: InvitationPath },
  response: { status: 204, description: 'Nobody can accept it any more.' },
  refusals: [404],
});

export const invitationRoutes = (options: AccountOperations): Route[] => {
  const { accounts, kit } = options;
  const { publicUrl, now } = kit;
  const { invitations, memberships } = accounts;
  return [
    route(createOperation, async ({ body }, caller) => {
      const org_id = await invitedTo(options, caller, body.organisation_id ?? undefined);
      const email = body.email.toLowerCase();
      const [members, open] = await Promise.all([memberships.list(org_id), invitations.list(org_id, now())]);
      if (members.some((member) => member.email === email)) throw memberExists();
      if (members.length + open.length >= MOST_MEMBERS) throw tooManyMembers();
      const at = now();
      const id = newUuid();
      const { token, sha256 } = newLinkToken(org_id, id);
      const invitation: Invitation = {
        id,
        org_id,
        email,
        role: body.role,
        made_by: makerOf(caller),
        created_at: at.toISOString(),
        expires_at: new Date(at.getTime() + INVITATION_MS).toISOString(),
        sha256,
      };
      if (!(await invitations.create(invitation, at))) throw tooManyMembers();
      return {
        ...shown(invitation),
        organisation_id: org_id,
        may_create_account: allows(caller.key.scopes, 'operator'),
        token,
        url: `${publicUrl()}/console/invitation#token=${token}`,
      };
    }),
    route(listOperation, async (_request, { org_id }) => ({
      invitations: (await invitations.list(org_id, now())).map(shown),
    })),
    route(revokeOperation, async ({ path: { invitation_id } }, { org_id }) => {
      if (!(await invitations.revoke(org_id, invitation_id))) throw notFound('Invitation');
    }),
  ];
};

/** The organisation of which the person becomes a member. @throws {Refused} for another one than that of the caller, who is no operator */
const invitedTo = async (
  { kit: { log } }: AccountOperations,
  { org_id, key }: Caller,
  named: string | undefined,
): Promise<string> => {
  const id = named?.toLowerCase() ?? org_id;
  if (id === org_id) return org_id;
  if (!allows(key.scopes, 'operator'))
    throw lacksScope('operator', 'Only an operator invites into another organisation');
  if ((await catalogue(log).getOrganisation(id)) === undefined) throw notFound('Organisation');
  return id;
};

const shown = ({ id, email, role, created_at, expires_at, made_by }: Invitation): InvitationItem => ({
  id,
  email,
  role,
  created_at,
  expires_at,
  invited_by: made_by.user_id,
});

const memberExists = (): Refused =>
  new Refused({
    code: 'member_exists',
    why: 'The person with this e-mail is a member already: change the role with PATCH /members/{user_id}',
  });
