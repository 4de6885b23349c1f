import type { ApiKey, OrganisationScope } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { allows } from '@runledger/contracts/scopes';
import { ancestorsBelow, DEFAULT_SCOPES, newKey, type CreatedApiKey } from './api-keys.ts';
import { keyName, keysOf, keyStore, revoke, type KeyStore } from './key-store.ts';

export interface DerivedKeyRequest {
  readonly name: string;
  /** That of the parent when left out. */
  readonly user_id?: string;
  /** `runs:write` when left out. */
  readonly scopes?: readonly OrganisationScope[];
  /** The expiry of the parent when left out. */
  readonly expires_at?: Date;
}

export type DeriveKeyResult =
  | { readonly kind: 'derived'; readonly created: CreatedApiKey }
  /** A derived key cannot have more scopes than its parent. */
  | { readonly kind: 'lacks_scope'; readonly scope: OrganisationScope }
  /** Otherwise a leaked key would stay valid in the keys derived from it. */
  | { readonly kind: 'outlives_parent'; readonly expires_at: string }
  | { readonly kind: 'too_many'; readonly most: number }
  | { readonly kind: 'too_deep'; readonly most: number }
  /** The parent was revoked meanwhile. */
  | { readonly kind: 'revoked' };

const MOST_OF_AN_ORGANISATION = 1_000;
/** Each key names all keys above it. */
const MOST_ANCESTORS = 32;

/**
 * Creates a key for the organisation of another key, its parent. It is stored only while the parent is valid. Only an admin makes
 * keys for another user. @throws {LogUnavailable}
 */
export const deriveKey = async (
  log: EventLog,
  parent: ApiKey,
  request: DerivedKeyRequest,
  now: Date,
): Promise<DeriveKeyResult> => {
  const { scopes = DEFAULT_SCOPES, user_id = parent.user_id } = request;
  const lacked = lackedScope(parent, scopes, user_id);
  if (lacked !== undefined) return { kind: 'lacks_scope', scope: lacked };
  const expires_at = request.expires_at?.toISOString() ?? parent.expires_at;
  if (parent.expires_at !== null && isLater(expires_at, parent.expires_at)) {
    return { kind: 'outlives_parent', expires_at: parent.expires_at };
  }
  const { org_id } = parent;
  const store = keyStore(log);
  const by = (await store.now()).get(keyName(parent));
  if (by === undefined || by.value.revoked) return { kind: 'revoked' };
  const present = await keysOf(store, org_id);
  const ancestors = ancestorsBelow(
    by.value,
    present.map(({ value }) => value),
  );
  if (ancestors.length > MOST_ANCESTORS) return { kind: 'too_deep', most: MOST_ANCESTORS };
  const family = {
    parent_key_id: parent.id,
    made_by: parent.user_id,
    ancestors,
    // With a rate of its own, a key could multiply its limit.
    rate_key: parent.rate_key ?? parent.id,
  };
  const made = newKey({ org_id, user_id, name: request.name, scopes, expires_at, ...family }, now);
  return storeWithin(store, made, () => store.putWhile(keyName(made.record), made.stored, by));
};

/**
 * Creates a key for a person who is signed in, in the organisation of the session. It has no key above it, and does not end with the
 * session; `isValid` says whether the session is valid still. @throws {LogUnavailable}
 */
export const keyOfSession = async (
  log: EventLog,
  session: ApiKey,
  request: DerivedKeyRequest,
  { now, isValid }: { readonly now: Date; readonly isValid: () => Promise<boolean> },
): Promise<DeriveKeyResult> => {
  const { scopes = DEFAULT_SCOPES, user_id = session.user_id, name, expires_at } = request;
  const lacked = lackedScope(session, scopes, user_id);
  if (lacked !== undefined) return { kind: 'lacks_scope', scope: lacked };
  const store = keyStore(log);
  const by = { made_by: session.user_id, expires_at: expires_at?.toISOString() ?? null };
  const made = newKey({ org_id: session.org_id, user_id, name, scopes, ...by }, now);
  return storeWithin(store, made, async () => {
    const revision = await store.create(keyName(made.record), made.stored);
    // Whoever takes the role away revokes the keys that are there afterwards: this one, or this sees it.
    if (revision === false || (await isValid())) return revision;
    await revoke(store, made.stored);
    return false;
  });
};

/** Stores a key, unless the organisation has as many as it may. `create`: false when what makes it is not valid any more. */
const storeWithin = async (
  store: KeyStore,
  { stored, ...created }: ReturnType<typeof newKey>,
  create: () => Promise<number | false>,
): Promise<DeriveKeyResult> => {
  const { org_id } = created.record;
  const tooMany: DeriveKeyResult = { kind: 'too_many', most: MOST_OF_AN_ORGANISATION };
  if ((await keysOf(store, org_id)).length >= MOST_OF_AN_ORGANISATION) return tooMany;
  const made = await create();
  if (made === false) return { kind: 'revoked' };
  // The limit also holds for concurrent requests: a key beyond it, in the order in which they were stored, is erased again.
  const before = (await keysOf(store, org_id)).filter(({ revision }) => revision < made);
  if (before.length < MOST_OF_AN_ORGANISATION) return { kind: 'derived', created };
  await revoke(store, stored);
  return tooMany;
};

/** Only an admin makes keys for another user. */
const lackedScope = (
  by: ApiKey,
  scopes: readonly OrganisationScope[],
  user_id: string,
): OrganisationScope | undefined => {
  const wanted = user_id === by.user_id ? scopes : [...scopes, 'admin' as const];
  return wanted.find((scope) => !allows(by.scopes, scope));
};

const isLater = (one: string | null, other: string): boolean =>
  one === null || Date.parse(one) > Date.parse(other);
