import { Role, scopesOfMember, type KeyScope } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { changeEntry, openBucket } from '@runledger/event-log/streams/bucket';
import { Type, type Static } from 'typebox';
import { allows } from '@runledger/contracts/scopes';
import { orgId } from '@runledger/contracts/ids';
import { findValidKey } from '../keys/api-keys.ts';
import type { Caller } from '../../door/operation.ts';
import type { Kit } from '../../kit.ts';

const Uuid = Type.String({ format: 'uuid' });

/** A member as the organisation stores it. */
const Member = Type.Object({
  user_id: Uuid,
  email: Type.String({ maxLength: 254 }),
  name: Type.String({ maxLength: 128 }),
  role: Role,
  operator: Type.Boolean(),
  since: Type.String({ format: 'date-time' }),
});
export type Member = Static<typeof Member>;
const Members = Type.Object({ members: Type.Array(Member) });
type Members = Static<typeof Members>;

/**
 * Who may sign in to an organisation, in the bucket ACCOUNTS: `members.<org_id>` is all its members in one record, so that it has an owner
 * whoever changes them at the same time. Every method may throw LogUnavailable.
 */
export interface MemberRecords {
  of(org_id: string): Promise<readonly Member[]>;
  /** `change` is pure: it is called again when the members were changed meanwhile. */
  change(org_id: string, change: (members: readonly Member[]) => MembersResult): Promise<MembersResult>;
  /** Removes all members of an organisation. */
  erase(org_id: string): Promise<void>;
}

export const memberRecords = (log: EventLog): MemberRecords => {
  const bucket = openBucket(log, 'ACCOUNTS', Members);
  const keyOf = (org_id: string): string => `members.${org_id}`;
  return {
    of: async (org_id) => (await bucket.get(keyOf(org_id)))?.value.members ?? [],
    change: async (org_id, change) => {
      const decide = (present: Members | undefined) => {
        const result = change(present?.members ?? []);
        return { result, ...(result.kind === 'changed' && { value: { members: [...result.members] } }) };
      };
      const busy = `The members of ${org_id} change too fast to be changed. Try again.`;
      return (await changeEntry(bucket, keyOf(org_id), decide, busy)).result;
    },
    erase: (org_id) => bucket.erase(keyOf(org_id)),
  };
};

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

export const makerOf = ({ org_id, user_id, key, session }: Caller): Maker => ({
  org_id,
  user_id,
  key_id: session === undefined ? key.id : null,
});

/** Whether somebody may still give what they gave: their key is valid, or they are a member whose role permits as much. @throws {LogUnavailable} */
export const mayStill = async (
  { log, now }: Kit,
  members: MemberRecords,
  maker: Maker,
  scope: KeyScope,
): Promise<boolean> => {
  const { org_id, key_id } = maker;
  if (key_id === null) return isGivenBy(await members.of(org_id), maker, scope);
  const key = await findValidKey(log, { org_id: orgId(org_id), id: key_id }, now);
  return key !== undefined && allows(key.scopes, scope);
};

/** Who gives access to others: a user of an organisation, with a key of it, or with a session. */
export const Maker = Type.Object({
  org_id: Uuid,
  user_id: Uuid,
  key_id: Type.Union([Uuid, Type.Null()]),
});
export type Maker = Static<typeof Maker>;

/** Whether a member who gave something with a session has a role that permits as much. What was made with a key is another question. */
export const isGivenBy = (members: readonly Member[], { user_id, key_id }: Maker, scope: KeyScope): boolean =>
  key_id !== null || members.some((one) => one.user_id === user_id && allows(scopesOfMember(one), scope));

const Time = Type.String({ format: 'date-time' });

export const Invitation = Type.Object({
  id: Uuid,
  org_id: Uuid,
  /** In lower case. */
  email: Type.String({ maxLength: 254 }),
  role: Role,
  made_by: Maker,
  created_at: Time,
  expires_at: Time,
  /** Of the secret of its link. */
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
export type Invitation = Static<typeof Invitation>;

/** The open invitations of an organisation are one list. */
const MOST_INVITATIONS = 100;

/**
 * `invitations.<org_id>.<id>` in the bucket ACCOUNTS, until it is accepted, or makes room for another. One that is revoked has ended when it
 * began. Every method may throw LogUnavailable.
 */
export interface InvitationRecords {
  find(org_id: string, id: string): Promise<Invitation | undefined>;
  /** Those that have not ended, the newest first. */
  list(org_id: string, now: Date): Promise<Invitation[]>;
  /** False when the organisation has as many as it may. */
  create(invitation: Invitation, now: Date): Promise<boolean>;
  /** Also one that somebody accepts now, who is no member then. False when it was accepted or revoked meanwhile. */
  revoke(org_id: string, id: string): Promise<boolean>;
  erase(org_id: string, id: string): Promise<void>;
}

export const invitationRecords = (log: EventLog): InvitationRecords => {
  const bucket = openBucket(log, 'ACCOUNTS', Invitation);
  const keyOf = (org_id: string, id: string): string => `invitations.${org_id}.${id}`;
  return {
    find: async (org_id, id) => (await bucket.get(keyOf(org_id, id)))?.value,
    list: async (org_id, now) =>
      (await bucket.list(`invitations.${org_id}`))
        .map(({ value }) => value)
        .filter((invitation) => isOpen(invitation, now))
        .toSorted((one, other) => (one.id < other.id ? 1 : -1)),
    create: async (invitation, now) => {
      const present = await bucket.list(`invitations.${invitation.org_id}`);
      const ended = present.filter(({ value }) => !isOpen(value, now));
      await Promise.all(ended.map(({ key, revision }) => bucket.eraseAt(key, revision)));
      if (present.length - ended.length >= MOST_INVITATIONS) return false;
      await bucket.create(keyOf(invitation.org_id, invitation.id), invitation);
      return true;
    },
    revoke: async (org_id, id) => {
      const entry = await bucket.get(keyOf(org_id, id));
      if (entry === undefined || isRevoked(entry.value)) return false;
      const ended = { ...entry.value, expires_at: entry.value.created_at };
      return (await bucket.update(entry.key, ended, entry.revision)) !== false;
    },
    erase: (org_id, id) => bucket.erase(keyOf(org_id, id)),
  };
};

/** Also while somebody accepts it, or was interrupted at that. */
export const isOpen = ({ expires_at }: Invitation, now: Date): boolean =>
  Date.parse(expires_at) > now.getTime();

export const isRevoked = ({ expires_at, created_at }: Invitation): boolean => expires_at === created_at;
