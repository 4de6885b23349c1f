import { Role } from '@runledger/contracts/accounts/roles';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket, type Entry } from '@runledger/event-log/streams/bucket';
import { Type, type Static } from 'typebox';
import { Maker } from './maker.ts';

const Uuid = Type.String({ format: 'uuid' });
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
  /** Who accepts it now. An interrupted acceptance can be repeated by the same person only. */
  accepted_by: Type.Optional(Uuid),
});
export type Invitation = Static<typeof Invitation>;

/** The open invitations of an organisation are one list. */
const MOST_INVITATIONS = 100;

/**
 * `invitations.<org_id>.<id>` in the bucket ACCOUNTS, until it is accepted, or makes room for another. One that is revoked has ended when it
 * began. Every method may throw LogUnavailable.
 */
export interface InvitationRecords {
  find(org_id: string, id: string): Promise<Entry<Invitation> | undefined>;
  /** Those that have not ended, the newest first. */
  list(org_id: string, now: Date): Promise<Invitation[]>;
  /** False when the organisation has as many as it may. */
  create(invitation: Invitation, now: Date): Promise<boolean>;
  /** Claims it for a person; false when it is claimed by another one, was revoked meanwhile, or is gone. */
  claim(entry: Entry<Invitation>, user_id: string): Promise<boolean>;
  /** Also one that somebody accepts now, who is no member then. False when it was accepted or revoked, or is gone. */
  revoke(org_id: string, id: string): Promise<boolean>;
  erase(org_id: string, id: string): Promise<void>;
}

export const invitationRecords = (log: EventLog): InvitationRecords => {
  const bucket = openBucket(log, 'ACCOUNTS', Invitation);
  const keyOf = (org_id: string, id: string): string => `invitations.${org_id}.${id}`;
  const find: InvitationRecords['find'] = (org_id, id) => bucket.get(keyOf(org_id, id));
  return {
    find,
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
    claim: async ({ key, value, revision }, user_id) => {
      if (value.accepted_by !== undefined) return value.accepted_by === user_id;
      return (await bucket.update(key, { ...value, accepted_by: user_id }, revision)) !== false;
    },
    revoke: async (org_id, id) => {
      // It changes once more, when it is claimed.
      for (
        let entry = await find(org_id, id);
        entry && !isRevoked(entry.value);
        entry = await find(org_id, id)
      ) {
        const ended = { ...entry.value, expires_at: entry.value.created_at };
        if ((await bucket.update(entry.key, ended, entry.revision)) !== false) return true;
      }
      return false;
    },
    erase: (org_id, id) => bucket.erase(keyOf(org_id, id)),
  };
};

/** Also while somebody accepts it, or was interrupted at that. */
export const isOpen = ({ expires_at }: Invitation, now: Date): boolean =>
  Date.parse(expires_at) > now.getTime();

export const isRevoked = ({ expires_at, created_at }: Invitation): boolean => expires_at === created_at;
