import { MemberChange, MemberItem, MemberList, MemberPath } from '@runledger/contracts/http/accounts';
import { allows } from '@runledger/contracts/scopes';
import type { Role } from '@runledger/contracts/catalogue/records';
import type { AuditActor } from '@runledger/contracts/audit-record';
import type { Context } from 'koa';
import { lacksScope } from '../../door/caller.ts';
import { operation, route, requestOf, type Route, type Visitor } from '../../door/operation.ts';
import { notFound, Refused } from '../../door/refusal.ts';
import { MOST_MEMBERS, type Member, type MembersResult } from './member-records.ts';
import type { AccountOperations } from './accounts.ts';
import { networkOf } from '../audit/record-operation.ts';
import type { Memberships } from './membership.ts';
import type { Person } from './people.ts';

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
  refusals: [],
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
    members: (await memberships.list(org_id)).map(shown),
  })),
  route(changeOperation, async ({ path: { user_id }, body }, { org_id, key }) => {
    const { role, operator } = body;
    if (operator === true && !allows(key.scopes, 'operator'))
      throw lacksScope('operator', 'Only an operator makes another one');
    const update = { role: role ?? undefined, operator: operator ?? undefined };
    return shown(memberIn(await memberships.change(org_id, user_id, update)));
  }),
  route(removeOperation, async ({ path: { user_id } }, { org_id }) => {
    const result = await memberships.remove(org_id, user_id);
    if (result.kind !== 'removed') memberIn(result);
  }),
];

const shown = ({ user_id, email, name, role, operator, since }: Member): MemberItem => ({
  user_id,
  email,
  name,
  role,
  operator,
  since,
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

export const tooManyMembers = (): Refused =>
  tooMany(`The organisation has ${MOST_MEMBERS} members and open invitations together, which is the limit`);

const tooMany = (why: string): Refused =>
  new Refused({
    code: 'too_many_members',
    why: `${why}: remove members, or revoke invitations, that are not needed`,
  });

interface AddedMember {
  readonly org_id: string;
  readonly person: Person;
  readonly role: Role;
  readonly operator: boolean;
}

/** Makes a person a member, and records it, with the invitation that it accepts. @throws {Refused} when the organisation has too many @throws {AuditNotStored} */
export const addMember = async (
  { accounts: { memberships }, audit: { record } }: AccountOperations,
  { org_id, ...member }: AddedMember,
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
};
