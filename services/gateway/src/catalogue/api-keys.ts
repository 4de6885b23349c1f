import { createHash, randomBytes } from 'node:crypto';
import { ApiKey, type KeyScope } from '@runledger/contracts/catalogue';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { openBucket, type Bucket } from '@runledger/event-log/bucket';
import type { EventLog } from '@runledger/event-log/event-log';

export interface NewApiKey {
  readonly org_id: string;
  readonly user_id: string;
  readonly name: string;
  /** `runs:write` when left out. */
  readonly scopes?: readonly KeyScope[];
  /** ISO 8601; never when left out. */
  readonly expires_at?: string | null;
  /** A key that was chosen elsewhere: 16 to 255 printable characters without spaces. A random one when left out. */
  readonly key?: string;
}

export interface CreatedApiKey {
  readonly record: ApiKey;
  /** Shown this once: only its hash is stored. */
  readonly key: string;
}

const KEY = /^[\x21-\x7e]{16,255}$/;
const PREFIX_LENGTH = 8;

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

const buckets = new WeakMap<EventLog, Bucket<ApiKey>>();
const bucketOf = (log: EventLog): Bucket<ApiKey> => {
  const bucket = buckets.get(log) ?? openBucket(log, 'KEYS', ApiKey);
  buckets.set(log, bucket);
  return bucket;
};

/**
 * Makes a key, or finds the one that is there when the given key was created for the same user before.
 * @throws TypeError for a key that cannot be one, or that belongs to somebody else @throws {LogUnavailable}
 */
export const createApiKey = async (log: EventLog, wish: NewApiKey): Promise<CreatedApiKey> => {
  const key = wish.key ?? `rl_${randomBytes(32).toString('base64url')}`;
  if (!KEY.test(key)) {
    throw new TypeError('An API key has 16 to 255 printable ASCII characters and no spaces. Choose another.');
  }
  const record: ApiKey = {
    id: newUuid(),
    user_id: wish.user_id,
    org_id: orgId(wish.org_id),
    name: wish.name,
    prefix: key.slice(0, PREFIX_LENGTH),
    scopes: [...(wish.scopes ?? ['runs:write'])],
    created_at: new Date().toISOString(),
    expires_at: wish.expires_at ?? null,
  };
  const bucket = bucketOf(log);
  if ((await bucket.create(hashOf(key), record)) !== false) return { record, key };
  const present = (await bucket.get(hashOf(key)))?.value;
  if (present?.org_id === wish.org_id && present.user_id === wish.user_id) return { record: present, key };
  throw new TypeError('This API key belongs to another user. Choose another.');
};

/** Whose key it is; undefined for one that is unknown or expired. @throws {LogUnavailable} */
export const authenticate = async (log: EventLog, key: string): Promise<ApiKey | undefined> => {
  if (!KEY.test(key)) return undefined;
  const record = (await bucketOf(log).get(hashOf(key)))?.value;
  if (record === undefined) return undefined;
  const expired = record.expires_at !== null && Date.parse(record.expires_at) <= Date.now();
  return expired ? undefined : record;
};
