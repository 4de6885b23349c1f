import {
  ApiKeyList,
  ApiKeyPath,
  CreatedApiKeyItem,
  NewApiKeyRequest,
  type ApiKeyItem,
} from '@runledger/contracts/http/api-keys';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { deriveKey, type DerivedKeyRequest } from './derive-key.ts';
import type { CreatedApiKey } from './new-key.ts';
import { listKeys, revokeKey, type ListedKey } from './owned-keys.ts';

import { operation, route, type Caller, type ExtraCheck, type Route } from '../http/operation.ts';
import { invalid, Refused } from '../http/refusal.ts';
import { own } from '../validation/node.ts';

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
  refusals: [],
});

const createOperation = operation({
  id: 'createApiKey',
  method: 'POST',
  path: '/api-keys',
  tag: 'API keys',
  summary: 'Create an API key',
  description:
    'The new key belongs to the user and the organisation of the calling key. It has no scope that the calling key lacks, expires no later, and shares its rate: a key and all keys derived from it are limited together. An organisation has at most 1,000 keys.',
  scope: 'runs:write',
  request: { body: NewApiKeyRequest },
  response: {
    status: 201,
    description: 'The key. It is not shown again.',
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
    'A key can always revoke itself. To revoke another key of its user, it needs the scope `runs:write` and every scope of that key. With the scope `admin` it can revoke the keys of the organisation. A revoked key is refused everywhere within a second.',
  scope: 'runs:read',
  request: { path: ApiKeyPath },
  response: { status: 204, description: 'The key is revoked.' },
  refusals: [404],
});

export interface ApiKeyRoutes {
  readonly log: EventLog;
  readonly now: () => Date;
}

export const apiKeyRoutes = ({ log, now }: ApiKeyRoutes): Route[] => [
  route(listOperation, async (_given, caller) => ({
    api_keys: (await listKeys(log, caller.key)).map(shown),
  })),
  route(
    createOperation,
    async ({ body: { name, scopes, expires_at } }, caller) => {
      const newKey = {
        name,
        ...(scopes ? { scopes } : {}),
        ...(expires_at ? { expires_at: new Date(expires_at) } : {}),
      };
      const { record, key } = await create(log, caller, newKey, now());
      return { ...shown({ ...record, last_used_at: null }), key };
    },
    isInTheFuture(now),
  ),
  route(deleteOperation, async ({ path }, caller) => {
    const result = await revokeKey(log, caller.key, path.key_id);
    switch (result.kind) {
      case 'revoked':
        return;
      case 'not_found':
        throw new Refused({ kind: 'not_found', what: 'API key' });
      case 'lacks_scope':
        throw new Refused({ kind: 'not_allowed', scope: result.scope });
    }
  }),
];

const shown = ({ id, name, prefix, scopes, created_at, expires_at, ...key }: ListedKey): ApiKeyItem => {
  const { last_used_at, user_id } = key;
  return { id, name, prefix, scopes, created_at, expires_at, last_used_at, user_id };
};

/** Refuses a key that would never be valid, together with everything else that is wrong. */
const isInTheFuture =
  (now: () => Date): ExtraCheck =>
  ({ body }) => {
    const expires_at = own(body, 'expires_at');
    const isPast = typeof expires_at === 'string' && Date.parse(expires_at) <= now().getTime();
    return isPast ? [invalid(EXPIRES_AT, 'datetime_future', 'Input should be in the future')] : [];
  };

const EXPIRES_AT = ['body', 'expires_at'];

const create = async (
  log: EventLog,
  { key }: Caller,
  request: DerivedKeyRequest,
  now: Date,
): Promise<CreatedApiKey> => {
  const result = await deriveKey(log, key, request, now);
  switch (result.kind) {
    case 'derived':
      return result.created;
    case 'lacks_scope':
      throw new Refused({ kind: 'not_allowed', scope: result.scope });
    case 'outlives_parent':
      throw new Refused({
        kind: 'invalid',
        problems: [
          invalid(
            EXPIRES_AT,
            'value_error',
            `Value error, the calling key expires at ${result.expires_at}, and a key derived from it cannot expire later`,
          ),
        ],
      });
    case 'too_many':
      throw new Refused({
        kind: 'conflict',
        why: `The organisation has ${result.most} API keys, which is the limit: revoke one that is not needed`,
      });
  }
};
