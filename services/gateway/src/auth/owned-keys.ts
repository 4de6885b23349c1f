import type { ApiKey, KeyScope } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { keyStore } from './key-store.ts';
import { revokeWithDescendants } from './revoke-keys.ts';
import { allows } from '@runledger/contracts/accounts/scopes';

export interface ListedKey extends ApiKey {
  readonly last_used_at: string | null;
  readonly last_used_address: string | null;
}

/** The keys of the calling key's user, for an admin those of the organisation, newest first. @throws {LogUnavailable} */
export const listKeys = async (log: EventLog, caller: ApiKey): Promise<ListedKey[]> => {
  const store = keyStore(log);
  const [indexed, uses] = await Promise.all([
    store.listIndexed(caller.org_id),
    store.lastUses(caller.org_id),
  ]);
  return indexed
    .map(({ value: { record } }) => {
      const { at: last_used_at = null, address: last_used_address = null } = uses.get(record.id) ?? {};
      return { ...record, last_used_at, last_used_address };
    })
    .filter((record) => mayManage(caller, record))
    .sort(newestFirst);
};

export type RevokedKey =
  | { readonly kind: 'revoked' }
  /** The key does not exist, or is not in the list of the calling key. */
  | { readonly kind: 'not_found' }
  /** A key cannot revoke one with more scopes: a leaked key must not lock out its owner. */
  | { readonly kind: 'lacks_scope'; readonly scope: KeyScope };

export interface RevokeOptions {
  /** Otherwise all keys below it are revoked as well. */
  readonly keepDescendants: boolean;
}

/**
 * A key may revoke itself. With `runs:write` it may revoke each key in its list that has no scope that it lacks. Keys below it have no
 * other scopes, and belong to other users only if an admin made them.
 * @throws {LogUnavailable}
 */
export const revokeKey = async (
  log: EventLog,
  caller: ApiKey,
  id: string,
  { keepDescendants }: RevokeOptions = { keepDescendants: false },
): Promise<RevokedKey> => {
  const isItself = id === caller.id;
  if (!isItself && !allows(caller.scopes, 'runs:write')) return { kind: 'lacks_scope', scope: 'runs:write' };
  const store = keyStore(log);
  const key = await store.findIndexed({ org_id: caller.org_id, id });
  if (!key || !mayManage(caller, key.record)) return { kind: 'not_found' };
  const lacked = key.record.scopes.find((scope) => !allows(caller.scopes, scope));
  if (!isItself && lacked !== undefined) return { kind: 'lacks_scope', scope: lacked };
  await (keepDescendants ? store.revoke(key) : revokeWithDescendants(store, key));
  return { kind: 'revoked' };
};

const mayManage = (caller: ApiKey, { org_id, user_id }: ApiKey): boolean =>
  org_id === caller.org_id && (user_id === caller.user_id || allows(caller.scopes, 'admin'));

/** Ids are UUIDs of version 7: of two keys of the same millisecond the later one has the greater id. */
const newestFirst = (one: ApiKey, other: ApiKey): number =>
  Date.parse(other.created_at) - Date.parse(one.created_at) || (one.id < other.id ? 1 : -1);
