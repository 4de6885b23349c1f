import { MemberChange, MemberItem, MemberList, MemberPath } from '@runledger/contracts/http/accounts';
import {
  CreatedInvitationItem,
  InvitationList,
  InvitationPath,
  NewInvitationRequest,
  type InvitationItem,
} from '@runledger/contracts/http/invitations';
import { newUuid } from '@runledger/contracts/ids';
import { allows } from '@runledger/contracts/scopes';
import type { AuditActor } from '@runledger/contracts/audit-record';
import type { Context } from 'koa';
import { lacksScope } from '../../door/caller.ts';
import { operation, route, requestOf, type Caller, type Route, type Visitor } from '../../door/operation.ts';
import { found, notFound, Refused } from '../../door/refusal.ts';
import { MOST_MEMBERS, makerOf, type Invitation, type Member, type MembersResult } from './member-records.ts';
import type { AccountOperations } from './accounts.ts';
import { networkOf } from '../audit/record-operation.ts';
import type { Memberships, NewMember } from './membership.ts';
import { newLinkToken } from './sign-in-links.ts';
import { catalogue } from '../catalogue/catalogue.ts';

const shared = { tag: 'Accounts', scope: 'admin' } as const;

const listOperation = operation({
  ...shared,
  id: 'listMembers',
  method: 'GET',
  path: '/members',
  summary: 'List the members',
  description: 'The people who may sign in to the organisation: at most 200.',
  request: {},
  response: { status: 200, description: 'All members.', body: MemberList },
});

const changeOperation = operation({
  ...shared,
  id: 'changeMember',
  method: 'PATCH',
  path: '/members/{user_id}',
  summary: 'Change a member',
  description:
    'The role, and whether the member is an operator, which needs the scope `operator` too. Their sessions have the new rights within a second. API keys that permit more are revoked, theirs and those that they made for others, and so are the invitations of somebody who may not invite any more. An organisation keeps an owner.',
  audit: { action: 'member.changed', target: 'user_id', keeps: ['role', 'operator'] },
  request: { path: MemberPath, body: MemberChange },
  response: { status: 200, description: 'The member.', body: MemberItem },
  refusals: [404, 409],
});

const removeOperation = operation({
  ...shared,
  id: 'removeMember',
  method: 'DELETE',
  path: '/members/{user_id}',
  summary: 'Remove a member',
  description:
    'Their sessions lose the organisation within a second. Their API keys of it are revoked, and so are keys and invitations that they made for others, and invitations for them. The account of a person who is a member of no other organisation is removed. An organisation keeps an owner. After a 503, or no response, repeat the request: it goes on where it was interrupted.',
  audit: { action: 'member.removed', target: 'user_id' },
  request: { path: MemberPath },
  response: { status: 204, description: 'The person is no member.' },
  refusals: [404, 409],
});

export const memberRoutes = ({ accounts: { memberships } }: AccountOperations): Route[] => [
  route(listOperation, async (_request, { org_id }) => ({
    members: [...(await memberships.list(org_id))],
  })),
  route(changeOperation, async ({ path: { user_id }, body }, { org_id, key }) => {
    const { role, operator } = body;
    if (operator === true && !allows(key.scopes, 'operator'))
      throw lacksScope('operator', 'Only an operator makes another one');
    const update = { role: role ?? undefined, operator: operator ?? undefined };
    return memberIn(await memberships.change(org_id, user_id, update));
  }),
  route(removeOperation, async ({ path: { user_id } }, { org_id }) => {
    const result = await memberships.remove(org_id, user_id);
    if (result.kind !== 'removed') memberIn(result);
  }),
];

const INVITATION_MS = 7 * 24 * 3_600_000;

const inviteOperation = operation({
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

const listInvitationsOperation = operation({
  ...shared,
  id: 'listInvitations',
  method: 'GET',
  path: '/invitations',
  summary: 'List the open invitations',
  request: {},
  response: { status: 200, description: 'All that can be accepted.', body: InvitationList },
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
  const { publicUrl } = kit;
  const { invitations, memberships, time } = accounts;
  return [
    route(inviteOperation, async ({ body }, caller) => {
      const org_id = await invitedTo(options, caller, body.organisation_id ?? undefined);
      const email = body.email.toLowerCase();
      const at = await time();
      const [members, open] = await Promise.all([memberships.list(org_id), invitations.list(org_id, at)]);
      if (members.some((member) => member.email === email)) throw memberExists();
      if (members.length + open.length >= MOST_MEMBERS) throw tooManyMembers();
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
        ...invitationResponse(invitation),
        organisation_id: org_id,
        may_create_account: allows(caller.key.scopes, 'operator'),
        token,
        url: `${publicUrl()}/console/invitation#token=${token}`,
      };
    }),
    route(listInvitationsOperation, async (_request, { org_id }) => ({
      invitations: (await invitations.list(org_id, await time())).map(invitationResponse),
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
  return found(await catalogue(log).getOrganisation(id), 'Organisation').id;
};

const invitationResponse = ({
  id,
  email,
  role,
  created_at,
  expires_at,
  made_by,
}: Invitation): InvitationItem => ({
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

/** @throws {Refused} when the members were not changed */
const memberIn = (result: MembersResult): Member => {
  switch (result.kind) {
    case 'changed':
      return result.member;
    case 'not_found':
      throw notFound('Member');
    case 'withdrawn':
      throw invitationGone();
    case 'last_owner':
      throw new Refused({
        code: 'last_owner',
        why: 'This member is the only owner of the organisation: make another member an owner first',
      });
    case 'too_many':
      throw tooMany(`The organisation has ${result.most} members, which is the limit`);
  }
};

export const invitationGone = (): Refused =>
  new Refused({
    code: 'invitation_gone',
    why: 'This invitation was accepted, revoked, or has ended: it can be accepted once, within 7 days, while whoever made it may invite. Sign in if you accepted it; otherwise ask an owner of the organisation for another one',
  });

const tooManyMembers = (): Refused =>
  tooMany(`The organisation has ${MOST_MEMBERS} members and open invitations together, which is the limit`);

const tooMany = (why: string): Refused =>
  new Refused({
    code: 'too_many_members',
    why: `${why}: remove members, or revoke invitations, that are not needed`,
  });

/**
 * Makes a person a member, and records it, with the invitation that it accepts. Where that fails, somebody who joins with it has no account.
 * @throws {Refused} when the organisation has too many @throws {AuditNotStored}
 */
export const addMember = async (
  { accounts: { memberships }, audit: { record } }: AccountOperations,
  { org_id, ...member }: NewMember & { readonly org_id: string },
  { ctx, visitor }: { readonly ctx: Context; readonly visitor: Visitor },
  accepted?: {
    readonly action: 'invitation.accepted';
    readonly id: string;
  } & NonNullable<Parameters<Memberships['add']>[2]>,
): Promise<void> => {
  // Who sends the request is known only by the link that it has.
  const actor: AuditActor = { kind: 'unknown', network: networkOf(visitor.address ?? undefined) };
  const shared = { org_id, actor, request_id: requestOf(ctx).request_id };
  const { person, role, operator } = member;
  const add = (): Promise<unknown> =>
    record(
      {
        ...shared,
        action: 'member.added',
        target: { kind: 'member', id: person.id },
        details: { role, operator },
      },
      async () => memberIn(await memberships.add(org_id, member, accepted)),
    );
  try {
    if (accepted === undefined) await add();
    else
      await record(
        {
          ...shared,
          action: accepted.action,
          target: { kind: 'invitation', id: accepted.id },
          details: { user_id: person.id },
        },
        add,
      );
  } catch (error) {
    await memberships.giveUp(org_id, person);
    throw error;
  }
};
