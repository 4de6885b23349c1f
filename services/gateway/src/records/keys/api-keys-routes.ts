import {
  ApiKeyList,
  ApiKeyPath,
  CreatedApiKeyItem,
  NewApiKeyRequest,
  RevokeQuery,
  Whoami,
  type ApiKeyItem,
} from '@runledger/contracts/http/api-keys';
import type { ApiKey, KeyScope } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { allows } from '@runledger/contracts/scopes';
import { deriveKey, keyOfSession, type DerivedKeyRequest } from './derive-key.ts';
import { revokeWithDescendants, type CreatedApiKey } from './api-keys.ts';
import { notAuthenticated, notSignedIn, lacksScope } from '../../door/caller.ts';
import { operation, route, type Caller, type ExtraCheck, type Route } from '../../door/operation.ts';
import { invalid, invalidRequest, notFound, Refused } from '../../door/refusal.ts';
import { own } from '../../door/compiled.ts';
import { keysOf, keyStore, keyWithId, lastUsesOf, revoke } from './key-store.ts';
import type { Kit } from '../../kit.ts';
import { catalogue } from '../catalogue/catalogue.ts';
import type { SessionCallers } from '../people/sessions.ts';
import packageJson from '../../../package.json' with { type: 'json' };

const listOperation = operation({
  id: 'listApiKeys',
  method: 'GET',
  path: '/api-keys',
  tag: 'API keys',
  summary: 'List API keys',
  description:
    'The keys of the user that the calling key belongs to. A key with the scope admin lists the keys of the organisation.',
  scope: 'runs:read',
  request: {},
  response: { status: 200, description: 'All keys, also expired ones.', body: ApiKeyList },
});

const createOperation = operation({
  id: 'createApiKey',
  method: 'POST',
  path: '/api-keys',
  tag: 'API keys',
  summary: 'Create an API key',
  description:
    'The new key belongs to the organisation of the calling key, and to its user; with the scope `admin` it may belong to another user. It has no scope that the calling key lacks, expires no later, and shares its rate: a key and all keys derived from it are limited together. Revoking the calling key, or a key above it, revokes the new key as well. A key that a person makes with a session has no key above it, and lasts as long as the person has a role that permits as much. An organisation has at most 1,000 keys, and a key at most 32 keys above it.',
  scope: 'runs:write',
  audit: { action: 'key.created', keeps: ['scopes', 'user_id', 'expires_at'] },
  request: { body: NewApiKeyRequest },
  response: {
    status: 201,
    description: 'The key. It is not shown again.',
    links: { to: ['deleteApiKey'], parameters: { key_id: '/id' } },
    body: CreatedApiKeyItem,
    holdsSecret: true,
  },
  refusals: [409],
});

const deleteOperation = operation({
  id: 'deleteApiKey',
  method: 'DELETE',
  path: '/api-keys/{key_id}',
  tag: 'API keys',
  summary: 'Revoke an API key',
  description:
    'All keys that were made with it are revoked too, and those that were made with these, unless `keep_descendants` is true. A key can always revoke itself. To revoke another key of its user, it needs the scope `runs:write` and every scope of that key. With the scope `admin` it can revoke the keys of the organisation. A revoked key is refused everywhere within a second. After a 503, or no response, repeat the request: the key is valid or listed until all of this is done.',
  scope: 'runs:read',
  audit: {
    action: 'key.revoked',
    target: 'key_id',
    details: ({ query: { keep_descendants = false } }) => ({ keep_descendants }),
  },
  request: { path: ApiKeyPath, query: RevokeQuery },
  response: { status: 204, description: 'The key is revoked.' },
  refusals: [404],
});

export const apiKeyRoutes = ({ log, now }: Kit, { isValid: isValidSession }: SessionCallers): Route[] => [
  route(listOperation, async (_given, caller) => ({
    api_keys: (await listKeys(log, caller.key)).map(shown),
  })),
  route(
    createOperation,
    async ({ body: { name, scopes, user_id, expires_at } }, caller) => {
      const newKey = {
        name,
        ...(user_id ? { user_id: await knownUser(log, caller, user_id.toLowerCase()) } : {}),
        ...(scopes ? { scopes } : {}),
        ...(expires_at ? { expires_at: new Date(expires_at) } : {}),
      };
      const { record, key } = await create(log, isValidSession, caller, newKey, now());
      return { ...shown({ ...record, last_used_at: null, last_used_address: null }), key };
    },
    isInTheFuture(now),
  ),
  route(deleteOperation, async ({ path, query: { keep_descendants = false } }, caller) => {
    const result = await revokeKey(log, caller.key, path.key_id, { keepDescendants: keep_descendants });
    switch (result.kind) {
      case 'revoked':
        return;
      case 'not_found':
        throw notFound('API key');
      case 'lacks_scope':
        throw lacksScope(
          result.scope,
          'Use a key that has it. Without it, a key can revoke itself only, and no key can revoke one with more scopes',
        );
    }
  }),
];

const shown = ({ id, name, prefix, scopes, created_at, expires_at, ...key }: ListedKey): ApiKeyItem => {
  const { last_used_at, last_used_address, user_id, parent_key_id = null, made_by = null } = key;
  const use = { last_used_at, last_used_address };
  return { id, name, prefix, scopes, created_at, expires_at, ...use, user_id, parent_key_id, made_by };
};

/** Refuses a key that would never be valid, together with everything else that is wrong. */
const isInTheFuture =
  (now: () => Date): ExtraCheck =>
  ({ body }) => {
    const expires_at = own(body, 'expires_at');
    const isPast = typeof expires_at === 'string' && Date.parse(expires_at) <= now().getTime();
    return isPast ? [invalid(EXPIRES_AT, 'datetime_future', 'Send a time in the future')] : [];
  };

const EXPIRES_AT = ['body', 'expires_at'];

/** A key without `admin` does not learn which users there are. @throws {Refused} */
const knownUser = async (
  log: EventLog,
  { org_id, user_id, key }: Caller,
  wanted: string,
): Promise<string> => {
  if (wanted === user_id || !allows(key.scopes, 'admin') || (await catalogue(log).getUser(org_id, wanted)))
    return wanted;
  throw invalidRequest(
    invalid(['body', 'user_id'], 'value_error', 'The organisation has no user with this id'),
  );
};

const create = async (
  log: EventLog,
  isValidSession: SessionCallers['isValid'],
  { key, session }: Caller,
  request: DerivedKeyRequest,
  now: Date,
): Promise<CreatedApiKey> => {
  const result = session
    ? await keyOfSession(log, key, request, { now, isValid: () => isValidSession(key) })
    : await deriveKey(log, key, request, now);
  switch (result.kind) {
    case 'derived':
      return result.created;
    case 'revoked':
      throw session ? notSignedIn() : notAuthenticated();
    case 'lacks_scope':
      throw lacksScope(
        result.scope,
        request.user_id === undefined || request.user_id === key.user_id
          ? 'Create the key without it, or with a key that has it'
          : 'Leave user_id out to create a key of your own',
      );
    case 'too_deep':
      throw new Refused({
        code: 'api_key_too_deep',
        why: `This API key has ${result.most} keys above it, which is the limit: make the key with one of those`,
      });
    case 'outlives_parent':
      throw invalidRequest(
        invalid(
          EXPIRES_AT,
          'value_error',
          `The calling key expires at ${result.expires_at}, and a key derived from it cannot expire later`,
        ),
      );
    case 'too_many':
      throw new Refused({
        code: 'too_many_api_keys',
        why: `The organisation has ${result.most} API keys, which is the limit: revoke one that is not needed`,
      });
  }
};

interface ListedKey extends ApiKey {
  readonly last_used_at: string | null;
  readonly last_used_address: string | null;
}

/** The keys of the calling key's user, for an admin those of the organisation, newest first. @throws {LogUnavailable} */
export const listKeys = async (log: EventLog, caller: ApiKey): Promise<ListedKey[]> => {
  const [keys, uses] = await Promise.all([
    keysOf(keyStore(log), caller.org_id),
    lastUsesOf(log, caller.org_id),
  ]);
  return keys
    .map(({ value: { record } }) => {
      const { at: last_used_at = null, address: last_used_address = null } = uses.get(record.id) ?? {};
      return { ...record, last_used_at, last_used_address };
    })
    .filter((record) => mayManage(caller, record))
    .sort(newestFirst);
};

type RevokedKey =
  | { readonly kind: 'revoked' }
  /** The key does not exist, or is not in the list of the calling key. */
  | { readonly kind: 'not_found' }
  /** A key cannot revoke one with more scopes: a leaked key must not lock out its owner. */
  | { readonly kind: 'lacks_scope'; readonly scope: KeyScope };

/**
 * A key may revoke itself. With `runs:write` it may revoke each key in its list that has no scope that it lacks. Keys below it have no
 * other scopes, and belong to other users only if an admin made them. They are revoked as well, unless `keepDescendants` says otherwise.
 * @throws {LogUnavailable}
 */
export const revokeKey = async (
  log: EventLog,
  caller: ApiKey,
  id: string,
  { keepDescendants = false }: { readonly keepDescendants?: boolean } = {},
): Promise<RevokedKey> => {
  const isItself = id === caller.id;
  if (!isItself && !allows(caller.scopes, 'runs:write')) return { kind: 'lacks_scope', scope: 'runs:write' };
  const store = keyStore(log);
  const key = keyWithId(await store.now(), { org_id: caller.org_id, id })?.value;
  if (!key || !mayManage(caller, key.record)) return { kind: 'not_found' };
  const lacked = key.record.scopes.find((scope) => !allows(caller.scopes, scope));
  if (!isItself && lacked !== undefined) return { kind: 'lacks_scope', scope: lacked };
  await (keepDescendants ? revoke(store, key) : revokeWithDescendants(store, key));
  return { kind: 'revoked' };
};

const mayManage = (caller: ApiKey, { org_id, user_id }: ApiKey): boolean =>
  org_id === caller.org_id && (user_id === caller.user_id || allows(caller.scopes, 'admin'));

/** Ids are UUIDs of version 7: of two keys of the same millisecond the later one has the greater id. */
const newestFirst = (one: ApiKey, other: ApiKey): number =>
  Date.parse(other.created_at) - Date.parse(one.created_at) || (one.id < other.id ? 1 : -1);

const whoamiOperation = operation({
  id: 'getWhoami',
  method: 'GET',
  path: '/whoami',
  tag: 'API keys',
  summary: 'Read whose the API key of the request is',
  description:
    'The organisation and the user that the calling key belongs to, the scopes of the key and when it expires, and the version of the gateway. A client can check a key with it, and a person which server and organisation they work with.',
  scope: 'runs:read',
  orScope: 'operator',
  request: {},
  response: { status: 200, description: 'Whose the key is.', body: Whoami },
});

export const whoamiRoute = ({ log }: Kit): Route =>
  route(whoamiOperation, async (_request, { org_id, user_id, key }) => {
    const records = catalogue(log);
    const [organisation, user] = await Promise.all([
      records.getOrganisation(org_id),
      records.getUser(org_id, user_id),
    ]);
    // Whoever erases an organisation removes its keys first: this one is refused in a moment.
    if (organisation === undefined || user === undefined) throw notAuthenticated();
    const { id, name, prefix, scopes, created_at, expires_at } = key;
    return {
      organisation: { id: organisation.id, name: organisation.name },
      user: { id: user.id, name: user.name },
      key: { id, name, prefix, scopes, created_at, expires_at },
      version: packageJson.version,
    };
  });
