import type { OrgId } from '@runledger/contracts/ids';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import pLimit from 'p-limit';
import { descendantsOf } from './core/ancestors.ts';
import type { IndexedKey, KeyStore } from './key-store.ts';

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
