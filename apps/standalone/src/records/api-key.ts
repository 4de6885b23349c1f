import { createHash, randomBytes } from 'node:crypto';
import { ApiKey } from '@runledger/contracts/catalogue';
import { newUuid } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/bucket';
import type { EventLog } from '@runledger/event-log/event-log';

export const newApiKey = (): string => `rl_${randomBytes(32).toString('base64url')}`;

/** Stores the key's hash; a key that is known already stays as it is. */
export const storeApiKey = async (
  log: EventLog,
  key: string,
  owner: { readonly org_id: string; readonly user_id: string },
  created_at: string,
): Promise<void> => {
  await openBucket(log, 'KEYS', ApiKey).create(hashOf(key), {
    id: newUuid(),
    user_id: owner.user_id,
    org_id: owner.org_id,
    name: 'first key',
    prefix: key.slice(0, 8),
    scopes: ['runs:write'],
    created_at,
    expires_at: null,
  });
};

export const removeApiKey = (log: EventLog, key: string): Promise<void> =>
  openBucket(log, 'KEYS', ApiKey).delete(hashOf(key));

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
