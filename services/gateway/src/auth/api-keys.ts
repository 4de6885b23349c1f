import type { ApiKey } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { erasureRecords } from '../catalogue/store/erasure-records.ts';
import { keyStore } from './key-store.ts';
import { isKeyText, isSameHash, sha256Of } from './key-text.ts';
import { revokeWithDescendants } from './revoke-keys.ts';
import { newKey, type CreatedApiKey, type NewApiKey } from './new-key.ts';

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
 * since, so the read counts only if a quorum of RUNS is in touch with its leader: no other broker leads any stream then (ADR 41).
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
  { sha256 }: Pick<ApiKey, 'sha256'>,
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
