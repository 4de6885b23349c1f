import type { ApiKey } from '@runledger/contracts/catalogue';
import type { EventLog } from '@runledger/event-log/event-log';
import { keyStore } from './key-store.ts';
import { allows } from './scopes.ts';

export interface ListedKey extends ApiKey {
  readonly last_used_at: string | null;
}

/** The keys of the asking key's user, for an admin those of the organisation, newest first. @throws {LogUnavailable} */
export const listKeys = async (log: EventLog, asking: ApiKey): Promise<ListedKey[]> => {
  const store = keyStore(log);
  const [indexed, uses] = await Promise.all([
    store.listIndexed(asking.org_id),
    store.lastUses(asking.org_id),
  ]);
  return indexed
    .map(({ value }) => ({ ...value.record, last_used_at: uses.get(value.record.id) ?? null }))
    .filter((record) => mayManage(asking, record))
    .sort(newestFirst);
};

/** False for a key that is not there, or is not the asking key's to revoke: these are not told apart. @throws {LogUnavailable} */
export const revokeKey = async (log: EventLog, asking: ApiKey, id: string): Promise<boolean> => {
  const store = keyStore(log);
  const key = await store.findIndexed({ org_id: asking.org_id, id });
  if (!key || !mayManage(asking, key.record)) return false;
  await store.eraseRecord(key.sha256);
  await store.eraseIndexed(key.record);
  return true;
};

const mayManage = (asking: ApiKey, { org_id, user_id }: ApiKey): boolean =>
  org_id === asking.org_id && (user_id === asking.user_id || allows(asking.scopes, 'admin'));

/** Ids are UUIDs of version 7: of two keys of the same millisecond the later one has the greater id. */
const newestFirst = (one: ApiKey, other: ApiKey): number =>
  Date.parse(other.created_at) - Date.parse(one.created_at) || (one.id < other.id ? 1 : -1);
