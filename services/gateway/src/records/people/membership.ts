import { scopesOfMember, type Role } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import { allows } from '@runledger/contracts/scopes';
import { keysOf, keyStore } from '../keys/key-store.ts';
import { revokeWithDescendants } from '../keys/api-keys.ts';
import { catalogue } from '../catalogue/catalogue.ts';
import {
  withChangedMember,
  withMember,
  withoutMember,
  type Member,
  type MembersResult,
  type MemberUpdate,
  type MemberRecords,
  isGivenBy,
  type Maker,
  type InvitationRecords,
} from './member-records.ts';
import type { People, Person } from './people.ts';
import type { Kit } from '../../kit.ts';

/** An organisation of a person. */
interface Membership {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly operator: boolean;
}

export interface NewMember {
  readonly person: Person;
  readonly role: Role;
  readonly operator: boolean;
}

interface Invited {
  readonly made_by: Maker;
  /** Asked once the person is a member: whoever revokes the invitation, or the key that made it, does so before, or this sees it. */
  readonly stands: () => Promise<boolean>;
}

/** Who may sign in to which organisation. Every method may throw LogUnavailable, and may be called again then. */
export interface Memberships {
  list(org_id: string): Promise<readonly Member[]>;
  /** The organisations of a person, the first one first. */
  of(user_id: string): Promise<Membership[]>;
  /** `not_found` for an organisation that is erased, `withdrawn` for an invitation that does not stand: then they are as they were before. */
  add(org_id: string, member: NewMember, invited?: Invited): Promise<MembersResult>;
  /**
   * After a person who joins has not become a member, whatever was the reason: the account goes, unless another try has taken it up. One that
   * cannot be removed now opens nothing, and the next try takes it up.
   */
  giveUp(org_id: string, person: Person): Promise<void>;
  /** Revokes what the person has, and has given to others, that the new role does not permit: API keys and invitations. */
  change(org_id: string, user_id: string, update: MemberUpdate): Promise<MembersResult>;
  /**
   * Also their API keys of the organisation, all that they gave to others, invitations for them, and the account of a person who is a member
   * of no other. After an interruption it is repeated, though the person is no member any more.
   */
  remove(
    org_id: string,
    user_id: string,
  ): Promise<Exclude<MembersResult, { kind: 'changed' }> | { readonly kind: 'removed' }>;
  /** Removes all members of an organisation, and its invitations. Resolves with how many there were. */
  erase(org_id: string): Promise<number>;
}

/** What people are stored in. */
export interface StoredAccounts {
  readonly members: MemberRecords;
  readonly invitations: InvitationRecords;
  readonly people: People;
  readonly time: () => Promise<Date>;
}

export const memberships = (kit: Kit, stored: StoredAccounts): Memberships => {
  const { log } = kit;
  const { members, people, time } = stored;
  const records = catalogue(log);
  return {
    list: (org_id) => members.of(org_id),
    of: async (user_id) => {
      const ids = await people.organisationsOf(user_id);
      const all = await Promise.all(
        ids.map(async (id) => {
          const [organisation, present] = await Promise.all([records.getOrganisation(id), members.of(id)]);
          const member = present.find((one) => one.user_id === user_id);
          if (organisation === undefined || member === undefined) return undefined;
          return { id, name: organisation.name, role: member.role, operator: member.operator };
        }),
      );
      return all.filter((one) => one !== undefined);
    },
    add: async (org_id, { person, role, operator }, invited) => {
      const { id: user_id, email, name } = person;
      const since = (await time()).toISOString();
      const before = (await members.of(org_id)).find((one) => one.user_id === user_id);
      if (!(await people.enter(user_id, org_id))) return { kind: 'withdrawn' };
      const added = { user_id, email, name, role, operator, since };
      const result = await members.change(org_id, (present) =>
        invited?.made_by.org_id !== org_id || isGivenBy(present, invited.made_by, 'admin')
          ? withMember(present, added)
          : { kind: 'withdrawn' },
      );
      const isTakenBack = result.kind === 'changed' && invited !== undefined && !(await invited.stands());
      if (isTakenBack)
        await members.change(org_id, (present) =>
          before ? withChangedMember(present, user_id, before) : withoutMember(present, user_id),
        );
      if (isTakenBack || result.kind === 'withdrawn') {
        if (!before) await leave(stored, org_id, user_id, person.joining);
        return { kind: 'withdrawn' };
      }
      if (result.kind !== 'changed') return result;
      await records.createUser({ id: user_id, org_id, name, created_at: since });
      // An erasure removes every member who was there before it was requested.
      if (await records.wasErased(org_id)) {
        await eraseMembers(kit, stored, org_id);
        return { kind: 'not_found' };
      }
      return (await people.settle(person)) ? result : { kind: 'withdrawn' };
    },
    giveUp: async (org_id, { id, joining }) => {
      if (joining !== undefined) await leave(stored, org_id, id, joining).catch(() => undefined);
    },
    change: async (org_id, user_id, update) => {
      const result = await members.change(org_id, (present) => withChangedMember(present, user_id, update));
      if (result.kind === 'changed') await revokeGiven(kit, stored, org_id, result.member);
      return result;
    },
    remove: async (org_id, user_id) => {
      const result = await members.change(org_id, (present) => withoutMember(present, user_id));
      const isHalfDone =
        result.kind === 'not_found' && (await people.organisationsOf(user_id)).includes(org_id);
      if (result.kind !== 'changed' && !isHalfDone) return result;
      await revokeGiven(kit, stored, org_id, { user_id });
      await leave(stored, org_id, user_id);
      return { kind: 'removed' };
    },
    erase: (org_id) => eraseMembers(kit, stored, org_id),
  };
};

/**
 * After a person was removed, or a try to join has failed: then only while no other one has taken the account up. That the person belonged there
 * is forgotten last: until then it is repeated.
 */
const leave = async (
  { members, people }: StoredAccounts,
  org_id: string,
  id: string,
  joining?: string,
): Promise<void> => {
  const isMember = async (): Promise<boolean> => (await members.of(org_id)).some((one) => one.user_id === id);
  // Somebody may have added the person again meanwhile.
  if (await isMember()) return;
  await people.leave(id, org_id, joining);
  if (await isMember()) await people.enter(id, org_id);
};

const eraseMembers = async ({ log }: Kit, stored: StoredAccounts, org_id: string): Promise<number> => {
  const { members, people } = stored;
  const present = await members.of(org_id);
  // Also who was interrupted before, and is no member.
  for (const id of await people.of(org_id)) await people.leave(id, org_id);
  await members.erase(org_id);
  const invitations = await eraseSubjects(log, 'KV_ACCOUNTS', `$KV.ACCOUNTS.invitations.${orgId(org_id)}.>`);
  return present.length + invitations;
};

/**
 * What a person has in an organisation, or gave to others, that permits more than the person may: API keys, with those that these made, and
 * invitations. All of it, and invitations for them, for somebody who is no member any more.
 */
const revokeGiven = async (
  { log }: Kit,
  { invitations, people, time }: StoredAccounts,
  org_id: string,
  person: { readonly user_id: string } & Partial<Member>,
): Promise<void> => {
  const { user_id, role, operator = false } = person;
  const scopes = role === undefined ? [] : scopesOfMember({ role, operator });
  const store = keyStore(log);
  for (const { value } of await keysOf(store, org_id)) {
    const { record } = value;
    const isTooMuch = record.scopes.some((scope) => !allows(scopes, scope));
    if ((record.user_id === user_id || record.made_by === user_id) && isTooMuch)
      await revokeWithDescendants(store, value);
  }
  if (allows(scopes, 'admin')) return;
  const email = role === undefined ? (await people.find(user_id))?.email : undefined;
  for (const invitation of await invitations.list(org_id, await time()))
    if (invitation.made_by.user_id === user_id || invitation.email === email)
      await invitations.revoke(org_id, invitation.id);
};
