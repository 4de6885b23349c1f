import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiKey, OrganisationScope, KeyScope } from '@runledger/contracts/catalogue/records';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import { actOnEach } from '../../act-on-each.ts';
import { erasureRecords } from '../erasure.ts';
import {
  invalidate,
  keyName,
  keysOf,
  keyStore,
  keyWithId,
  revoke,
  type KeyStore,
  type StoredKey,
} from './key-store.ts';

const systemNow = (): Date => new Date();

/**
 * Creates a key, or finds it when the same key was created for the same user before. For operators and installers, who
 * may grant any scope; clients use `deriveKey`.
 * @throws TypeError for an invalid key, one that belongs to another user, and an organisation that was erased
 * @throws {LogUnavailable}
 */
export const createApiKey = async (
  log: EventLog,
  request: NewApiKey,
  now: () => Date = systemNow,
): Promise<CreatedApiKey> => {
  if (request.key !== undefined && !isKeyText(request.key)) {
    throw new TypeError('An API key has 16 to 255 printable ASCII characters and no spaces. Choose another.');
  }
  const store = keyStore(log);
  const { record, key, stored } = newKey(request, now());
  const name = keyName(record);
  const known = request.key === undefined ? undefined : await store.get(name);
  if (known) return ownedBy(request, known.value.record, key);
  if ((await store.create(name, stored)) !== false) {
    // An erasure revokes every key that is there when it was requested.
    if ((await erasureRecords(log).find(request.org_id)) === undefined) return { record, key };
    await revoke(store, stored);
    throw new TypeError(
      `The organisation ${request.org_id} was erased, and can have no key any more. Choose another.`,
    );
  }
  const present = await store.get(name);
  if (present) return ownedBy(request, present.value.record, key);
  throw new TypeError('This API key was created and revoked meanwhile. Try again.');
};

const ownedBy = ({ org_id, user_id }: NewApiKey, record: ApiKey, key: string): CreatedApiKey => {
  if (record.org_id !== org_id || record.user_id !== user_id) {
    throw new TypeError('This API key belongs to another user. Choose another.');
  }
  return { record, key };
};

/** Whose key it is; undefined when it is unknown, revoked or expired by now. @throws {LogUnavailable} */
export const authenticate = async (
  log: EventLog,
  text: string,
  now: () => Date = systemNow,
): Promise<ApiKey | undefined> =>
  isKeyText(text) ? validKey(await keyStore(log).proven(), sha256Of(text), now) : undefined;

/** A revoked key, or a session that ended, stays valid for at most this time. Ending them has to work within a second. */
export const FRESH_MS = 500;

type ProvenKeys = Awaited<ReturnType<KeyStore['proven']>>;

/** The same without a question: also undefined when there was none within half a second. */
export const recentKey = (log: EventLog, text: string, now: () => Date): ApiKey | undefined => {
  const index = isKeyText(text) ? keyStore(log).recentlyProven(FRESH_MS) : undefined;
  return index && validKey(index, sha256Of(text), now);
};

/** The key with this id, unless it is revoked or expired by now. @throws {LogUnavailable} */
export const findValidKey = async (
  log: EventLog,
  key: Pick<ApiKey, 'org_id' | 'id'>,
  now: () => Date = systemNow,
  withinMs?: number,
): Promise<ApiKey | undefined> => {
  const index = await keyStore(log).proven(withinMs);
  const found = keyWithId(index, key);
  return found && validKey(index, found.value.record.sha256, now);
};

/** Whether it is neither revoked nor expired now. @throws {LogUnavailable} */
export const isValidKey = async (
  log: EventLog,
  { sha256 }: ApiKey,
  now: () => Date = systemNow,
): Promise<boolean> => validKey(await keyStore(log).proven(), sha256, now) !== undefined;

const validKey = (index: ProvenKeys, sha256: string, now: () => Date): ApiKey | undefined => {
  const found = index.get(keyName({ sha256 }))?.value;
  // It was found by its hash, so nothing is learned from how long this takes.
  if (found === undefined || found.revoked || found.record.sha256 !== sha256) return undefined;
  return hasExpired(found.record, now()) ? undefined : found.record;
};

const hasExpired = ({ expires_at }: ApiKey, now: Date): boolean =>
  expires_at !== null && Date.parse(expires_at) <= now.getTime();

/** Revokes the key with this text, if it exists, and all keys below it. @throws {LogUnavailable} */
export const revokeApiKey = async (log: EventLog, key: string): Promise<void> => {
  const store = keyStore(log);
  const found = await store.get(keyName({ sha256: sha256Of(key) }));
  if (found) await revokeWithDescendants(store, found.value);
};

interface NewApiKey {
  readonly org_id: string;
  readonly user_id: string;
  readonly name: string;
  /** `runs:write` when left out. */
  readonly scopes?: readonly KeyScope[];
  /** ISO 8601; never when left out. */
  readonly expires_at?: string | null;
  /** The id of the key that makes it. */
  readonly parent_key_id?: string;
  /** The user who makes it. */
  readonly made_by?: string;
  /** The ids of that key and those above it. */
  readonly ancestors?: readonly string[];
  /** The id of the key whose rate it shares; a rate of its own when left out. */
  readonly rate_key?: string;
  /** A key that was chosen elsewhere: 16 to 255 printable characters without spaces. A random one when left out. */
  readonly key?: string;
}

export interface CreatedApiKey {
  readonly record: ApiKey;
  /** Shown this once: only its hash is stored. */
  readonly key: string;
}

export const DEFAULT_SCOPES: readonly OrganisationScope[] = ['runs:write'];

/** A key as it is to be stored, and its text. */
export const newKey = (request: NewApiKey, now: Date): CreatedApiKey & { readonly stored: StoredKey } => {
  const { key = newKeyText(), scopes = DEFAULT_SCOPES, expires_at = null, ancestors = [] } = request;
  const { parent_key_id, made_by, rate_key } = request;
  const record: ApiKey = {
    id: newUuid(),
    user_id: request.user_id,
    org_id: orgId(request.org_id),
    name: request.name,
    prefix: prefixOf(key),
    sha256: sha256Of(key),
    scopes: [...new Set(scopes)],
    ...(parent_key_id !== undefined && { parent_key_id }),
    ...(made_by !== undefined && { made_by }),
    ...(rate_key !== undefined && { rate_key }),
    created_at: now.toISOString(),
    expires_at,
  };
  return { record, key, stored: { record, ancestors: [...ancestors] } };
};

const KEY = /^[\x21-\x7e]{16,255}$/;
const PREFIX_LENGTH = 8;
/** A chosen key may be short. */
const MOST_OF_A_KEY = 1 / 4;

/** Printable ASCII without spaces, long enough. */
const isKeyText = (text: string): boolean => KEY.test(text);

export const newKeyText = (): string => `rl_${randomBytes(32).toString('base64url')}`;

/** People recognise the key by it. */
const prefixOf = (key: string): string =>
  key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length * MOST_OF_A_KEY)));

/** Stored instead of the key: 64 hex digits. Keys have 256 random bits, so no salt and no slow hash is needed. */
export const sha256Of = (key: string): string => hash('sha256', key, 'hex');

/** Takes the same time wherever the hashes differ. */
export const isSameHash = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
};

const MAX_CONCURRENT = 50;
/** Each needs a key that was made and used within one round, and all of them share one rate. */
const MAX_ROUNDS = 100;

/**
 * Revokes a key and all keys below it. A key that one of them makes meanwhile does not survive: the broker stores it only while its
 * parent is valid, so what is there after all known ones are invalid is everything.
 * The key itself goes last: after an interruption it can be revoked again.
 * @throws {LogUnavailable} also when new keys are made too fast: revoke again
 */
export const revokeWithDescendants = async (store: KeyStore, key: StoredKey): Promise<void> => {
  const { id, org_id } = key.record;
  /** Resolves with how many there were. */
  const revokeBelow = async (): Promise<number> => {
    const below = descendantsOf(
      id,
      (await keysOf(store, org_id)).map(({ value }) => value),
    );
    await actOnEach(below, (one) => revoke(store, one), MAX_CONCURRENT);
    return below.length;
  };

  await revokeBelow();
  await invalidate(store, key.record);
  for (let round = 0; (await revokeBelow()) > 0; round += 1)
    if (round >= MAX_ROUNDS)
      throw new LogUnavailable(
        `Keys are made below the API key ${id} faster than they are revoked. Try again.`,
      );
  await revoke(store, key);
};

/**
 * Revokes all keys of an organisation, also those that others make meanwhile. Resolves with how many there were.
 * @throws {LogUnavailable} also when new keys are made too fast: revoke again
 */
export const revokeAll = async (store: KeyStore, org_id: OrgId): Promise<number> => {
  let revoked = 0;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const keys = await keysOf(store, org_id);
    if (keys.length === 0) return revoked;
    await actOnEach(keys, ({ value }) => revoke(store, value), MAX_CONCURRENT);
    revoked += keys.length;
  }
  throw new LogUnavailable(`Keys of ${org_id} are made faster than they are revoked. Try again.`);
};

/** The ancestors of a key that `parent` makes now. Those that were revoked meanwhile, without their descendants, are left out. */
export const ancestorsBelow = (
  { record, ancestors = [] }: StoredKey,
  present: readonly StoredKey[],
): string[] => {
  const ids = new Set(present.map(({ record }) => record.id));
  return [...ancestors.filter((id) => ids.has(id)), record.id];
};

/** Those that the key made, those that they made, and so on. */
export const descendantsOf = (id: string, keys: readonly StoredKey[]): StoredKey[] =>
  keys.filter(({ ancestors = [] }) => ancestors.includes(id));
