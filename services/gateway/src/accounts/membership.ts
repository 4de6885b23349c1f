import { scopesOfMember, type Role } from '@runledger/contracts/accounts/roles';
import { orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { eraseSubjects } from '@runledger/event-log/streams/erase-subjects';
import { keyStore } from '../auth/key-store.ts';
import { revokeWithDescendants } from '../auth/revoke-keys.ts';
import { allows } from '@runledger/contracts/accounts/scopes';
import { catalogue } from '../catalogue/catalogue.ts';
import {
  withChangedMember,
  withMember,
  withoutMember,
  type Member,
  type MembersResult,
  type MemberUpdate,
} from './core/members.ts';
import type { People, Person } from './people.ts';
import type { LinkRecords } from './store/link-records.ts';
import type { MemberRecords } from './store/member-records.ts';

/** An organisation of a person. */
interface Membership {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly operator: boolean;
}

interface NewMember {
  readonly person: Person;
  readonly role: Role;
  readonly operator: boolean;
}

/** Who may sign in to which organisation. Every method may throw LogUnavailable, and may be called again then. */
export interface Memberships {
  list(org_id: string): Promise<readonly Member[]>;
  /** The organisations of a person, the first one first. */
  of(user_id: string): Promise<Membership[]>;
  /** `not_found` for an organisation that is erased. */
  add(org_id: string, member: NewMember): Promise<MembersResult>;
  /** Revokes the API keys of the person that permit more than the new role. */
  change(org_id: string, user_id: string, update: MemberUpdate): Promise<MembersResult>;
  /** Also their API keys of the organisation, and the account of a person who is a member of no other. */
  remove(org_id: string, user_id: string): Promise<MembersResult>;
  /** Removes all members of an organisation, and its invitations. Resolves with how many there were. */
  erase(org_id: string): Promise<number>;
}

export interface MembershipsOptions {
  readonly log: EventLog;
  readonly members: MemberRecords;
  readonly links: Pick<LinkRecords, 'erase'>;
  readonly people: Pick<People, 'find' | 'remove'>;
  readonly now: () => Date;
}

export const memberships = (options: MembershipsOptions): Memberships => {
  const { log, members, now } = options;
  const records = catalogue(log);
  return {
    list: (org_id) => members.of(org_id),
    of: async (user_id) => {
      const ids = await members.organisationsOf(user_id);
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
    add: async (org_id, { person, role, operator }) => {
      const { id: user_id, email, name } = person;
      const since = now().toISOString();
      await members.note(user_id, org_id);
      const result = await members.change(org_id, (present) =>
        withMember(present, { user_id, email, name, role, operator, since }),
      );
      if (result.kind !== 'changed') return result;
      await records.createUser({ id: user_id, org_id, name, created_at: since });
      // An erasure removes every member who was there before it was requested.
      if (!(await records.wasErased(org_id))) return result;
      await eraseMembers(options, org_id);
      return { kind: 'not_found' };
    },
    change: async (org_id, user_id, update) => {
      const result = await members.change(org_id, (present) => withChangedMember(present, user_id, update));
      if (result.kind === 'changed') await revokeKeys(log, org_id, result.member);
      return result;
    },
    remove: async (org_id, user_id) => {
      const result = await members.change(org_id, (present) => withoutMember(present, user_id));
      if (result.kind !== 'changed') return result;
      await revokeKeys(log, org_id, { user_id });
      await leave(options, org_id, result.member);
      return result;
    },
    erase: (org_id) => eraseMembers(options, org_id),
  };
};

/** After a person was removed. */
const leave = async (options: MembershipsOptions, org_id: string, member: Member): Promise<void> => {
  const { members } = options;
  const { user_id } = member;
  await members.forget(user_id, org_id);
  // Somebody may have added the person again meanwhile.
  if ((await members.of(org_id)).some((one) => one.user_id === user_id)) await members.note(user_id, org_id);
  else await endWithout(options, org_id, member);
};

/** A person without any organisation has no account. */
const endWithout = async (
  { members, links, people }: MembershipsOptions,
  org_id: string,
  { user_id, email }: Member,
): Promise<void> => {
  await members.forget(user_id, org_id);
  if ((await members.organisationsOf(user_id)).length > 0) return;
  await people.remove(user_id);
  await links.erase(email);
};

const eraseMembers = async (options: MembershipsOptions, org_id: string): Promise<number> => {
  const { log, members } = options;
  const present = await members.of(org_id);
  // The record goes last: an interrupted erasure finds everybody again.
  for (const member of present) await endWithout(options, org_id, member);
  await members.erase(org_id);
  const invitations = await eraseSubjects(log, 'KV_ACCOUNTS', `$KV.ACCOUNTS.invitations.${orgId(org_id)}.>`);
  return present.length + invitations;
};

/** The API keys of a person in an organisation that permit more than the person may; all of them for somebody who is no member any more. */
const revokeKeys = async (
  log: EventLog,
  org_id: string,
  person: Pick<Member, 'user_id'> & Partial<Pick<Member, 'role' | 'operator'>>,
): Promise<void> => {
  const { user_id, role, operator = false } = person;
  const scopes = role === undefined ? [] : scopesOfMember({ role, operator });
  const store = keyStore(log);
  for (const { value } of await store.listIndexed(org_id)) {
    const { record } = value;
    const isTooMuch = record.scopes.some((scope) => !allows(scopes, scope));
    if (record.user_id === user_id && isTooMuch) await revokeWithDescendants(store, value);
  }
};
