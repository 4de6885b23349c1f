import type { Role } from '@runledger/contracts/accounts/roles';

/** A member as the organisation stores it. */
export interface Member {
  readonly user_id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly operator: boolean;
  readonly since: string;
}

export interface MemberUpdate {
  readonly role?: Role | undefined;
  readonly operator?: boolean | undefined;
}

export type MembersResult =
  | { readonly kind: 'changed'; readonly members: readonly Member[]; readonly member: Member }
  | { readonly kind: 'not_found' }
  /** What made the person a member does not stand any more. */
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'last_owner' }
  | { readonly kind: 'too_many'; readonly most: number };

/** They are one record, which is read for each request of a session. */
export const MOST_MEMBERS = 200;

/** The person as a member. A member who is there stays, with the rights of both. */
export const withMember = (members: readonly Member[], added: Member): MembersResult => {
  const present = members.find(({ user_id }) => user_id === added.user_id);
  if (present === undefined) {
    if (members.length >= MOST_MEMBERS) return { kind: 'too_many', most: MOST_MEMBERS };
    return { kind: 'changed', members: [...members, added], member: added };
  }
  const role = RANKS[added.role] > RANKS[present.role] ? added.role : present.role;
  return replaced(members, { ...present, role, operator: present.operator || added.operator });
};

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, developer: 1, owner: 2 };

export const withChangedMember = (
  members: readonly Member[],
  user_id: string,
  { role, operator }: MemberUpdate,
): MembersResult => {
  const present = members.find((member) => member.user_id === user_id);
  if (present === undefined) return { kind: 'not_found' };
  const changed = { ...present, role: role ?? present.role, operator: operator ?? present.operator };
  if (changed.role !== 'owner' && isOnlyOwner(members, present)) return { kind: 'last_owner' };
  return replaced(members, changed);
};

export const withoutMember = (members: readonly Member[], user_id: string): MembersResult => {
  const member = members.find((one) => one.user_id === user_id);
  if (member === undefined) return { kind: 'not_found' };
  if (isOnlyOwner(members, member)) return { kind: 'last_owner' };
  return { kind: 'changed', members: members.filter((one) => one !== member), member };
};

const replaced = (members: readonly Member[], member: Member): MembersResult => ({
  kind: 'changed',
  members: members.map((one) => (one.user_id === member.user_id ? member : one)),
  member,
});

/** Without an owner, nobody could invite one. */
const isOnlyOwner = (members: readonly Member[], { user_id, role }: Member): boolean =>
  role === 'owner' && !members.some((one) => one.role === 'owner' && one.user_id !== user_id);
