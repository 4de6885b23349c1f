import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiKey, OrganisationScope, KeyScope } from '@runledger/contracts/catalogue/records';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import pLimit from 'p-limit';
import { erasureRecords } from '../erasure.ts';
import { keyStore, type IndexedKey, type KeyStore } from './key-store.ts';

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
  const { sha256 } = stored;
  const known = request.key === undefined ? undefined : await store.find(sha256);
  if (known) return ownedBy(request, known, key);
  await store.index(stored);
  if (await store.create(stored)) {
    // An erasure revokes every key that was indexed before it was requested.
    if ((await erasureRecords(log).find(request.org_id)) === undefined) return { record, key };
    await store.revoke(stored);
    throw new TypeError(
      `The organisation ${request.org_id} was erased, and can have no key any more. Choose another.`,
    );
  }
  await store.eraseIndexed(record);
  const present = await store.find(sha256);
  if (present) return ownedBy(request, present, key);
  throw new TypeError('This API key was created and revoked meanwhile. Try again.');
};

const ownedBy = ({ org_id, user_id }: NewApiKey, record: ApiKey, key: string): CreatedApiKey => {
  if (record.org_id !== org_id || record.user_id !== user_id) {
    throw new TypeError('This API key belongs to another user. Choose another.');
  }
  return { record, key };
};

/**
 * Whose key it is; undefined when it is unknown or expired. A broker that the others have replaced may hold keys that were revoked
 * since, so the read counts only if a quorum of RUNS is in touch with its leader: no other broker leads any stream then (ADR 3).
 * @throws {LogUnavailable}
 */
export const authenticate = async (
  log: EventLog,
  key: string,
  now: () => Date = systemNow,
): Promise<ApiKey | undefined> => {
  return isKeyText(key) ? validKey(log, sha256Of(key), now) : undefined;
};

/** The key with this id, as `authenticate` finds it. @throws {LogUnavailable} */
export const findValidKey = async (
  log: EventLog,
  key: Pick<ApiKey, 'org_id' | 'id'>,
  now: () => Date = systemNow,
): Promise<ApiKey | undefined> => {
  const indexed = await keyStore(log).findIndexed(key);
  return indexed && validKey(log, indexed.sha256, now);
};

/** Whether it is neither revoked nor expired now. @throws {LogUnavailable} */
export const isValidKey = async (
  log: EventLog,
  { sha256 }: ApiKey,
  now: () => Date = systemNow,
): Promise<boolean> => (await validKey(log, sha256, now)) !== undefined;

const validKey = async (log: EventLog, sha256: string, now: () => Date): Promise<ApiKey | undefined> => {
  const record = await keyStore(log).find(sha256);
  await log.freshSequence?.();
  if (record === undefined || !isSameHash(record.sha256, sha256)) return undefined;
  return hasExpired(record, now()) ? undefined : record;
};

const hasExpired = ({ expires_at }: ApiKey, now: Date): boolean =>
  expires_at !== null && Date.parse(expires_at) <= now.getTime();

/** Revokes the key with this text, if it exists, and all keys below it. @throws {LogUnavailable} */
export const revokeApiKey = async (log: EventLog, key: string): Promise<void> => {
  const store = keyStore(log);
  const sha256 = sha256Of(key);
  const record = await store.find(sha256);
  if (record) await revokeWithDescendants(store, { sha256, record });
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
export const newKey = (request: NewApiKey, now: Date): CreatedApiKey & { readonly stored: IndexedKey } => {
  const key = request.key ?? newKeyText();
  const sha256 = sha256Of(key);
  const record: ApiKey = {
    id: newUuid(),
    user_id: request.user_id,
    org_id: orgId(request.org_id),
    name: request.name,
    prefix: prefixOf(key),
    sha256,
    scopes: [...new Set(request.scopes ?? DEFAULT_SCOPES)],
    ...(request.parent_key_id === undefined ? {} : { parent_key_id: request.parent_key_id }),
    ...(request.made_by === undefined ? {} : { made_by: request.made_by }),
    ...(request.rate_key === undefined ? {} : { rate_key: request.rate_key }),
    created_at: now.toISOString(),
    expires_at: request.expires_at ?? null,
  };
  return { record, key, stored: { sha256, record, ancestors: [...(request.ancestors ?? [])] } };
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
export const sha256Of = (key: string): string => createHash('sha256').update(key).digest('hex');

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
 * parent is valid, so what is listed after all known ones are invalid is everything.
 * The key itself comes last, in the index too: after an interruption it can be revoked again, also by itself.
 * @throws {LogUnavailable} also when new keys are made too fast: revoke again
 */
export const revokeWithDescendants = async (store: KeyStore, key: IndexedKey): Promise<void> => {
  const { id, org_id } = key.record;
  const limit = pLimit(MAX_CONCURRENT);
  const below = new Map<string, IndexedKey>();
  /** Those that are new. */
  const invalidateBelow = async (): Promise<number> => {
    const listed = (await store.listIndexed(org_id)).map(({ value }) => value);
    const added = descendantsOf(id, listed).filter(({ record }) => !below.has(record.id));
    await limit.map(added, ({ sha256 }) => store.invalidate(sha256));
    for (const one of added) below.set(one.record.id, one);
    return added.length;
  };

  await invalidateBelow();
  await store.invalidate(key.sha256);
  for (let round = 0; (await invalidateBelow()) > 0; round += 1)
    if (round >= MAX_ROUNDS)
      throw new LogUnavailable(
        `Keys are made below the API key ${id} faster than they are revoked. Try again.`,
      );
  await limit.map(below.values(), (one) => store.revoke(one));
  await store.revoke(key);
};

/**
 * Revokes all keys of an organisation, also those that others make meanwhile. Resolves with how many there were.
 * @throws {LogUnavailable} also when new keys are made too fast: revoke again
 */
export const revokeAll = async (store: KeyStore, org_id: OrgId): Promise<number> => {
  const limit = pLimit(MAX_CONCURRENT);
  let revoked = 0;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const keys = await store.listIndexed(org_id);
    if (keys.length === 0) return revoked;
    await limit.map(keys, ({ value }) => store.revoke(value));
    revoked += keys.length;
  }
  throw new LogUnavailable(`Keys of ${org_id} are made faster than they are revoked. Try again.`);
};

/** A key, and the keys above it that were there when it was made. */
export interface Descendant {
  readonly record: ApiKey;
  readonly ancestors?: readonly string[] | undefined;
}

/** The ids of the keys whose revocation revokes this one; none for a key that an operator made. */
const ancestorsOf = ({ ancestors = [] }: Descendant): readonly string[] => ancestors;

/** The ancestors of a key that `parent` makes now. Those that were revoked meanwhile, without their descendants, are left out. */
export const ancestorsBelow = (parent: Descendant, present: readonly Descendant[]): string[] => {
  const ids = new Set(present.map(({ record }) => record.id));
  return [...ancestorsOf(parent).filter((id) => ids.has(id)), parent.record.id];
};

/** Those that the key made, those that they made, and so on. */
export const descendantsOf = <Key extends Descendant>(id: string, keys: readonly Key[]): Key[] =>
  keys.filter((key) => ancestorsOf(key).includes(id));
