import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LRUCache } from 'lru-cache';
import { authenticate } from './api-keys.ts';
import { lastUses, type LastUses } from './last-uses.ts';
import type { AuthenticateClient } from './identify-caller.ts';
import { WAIT_FOR_LOG_MS, waitForLog } from '../http/wait-for-log.ts';

/** A revoked key stays valid for at most this time. Revoking has to work within a second. */
const FRESH_MS = 500;
const MAX_CACHED = 1_000;

/**
 * Caches valid keys for a short time, and records the use of a key when it looks it up. Unknown keys are not cached.
 * Every request is authenticated first, so this is where a request waits for a log that is unavailable.
 */
export const cachedAuthentication = ({ log, now, clock }: LastUses): AuthenticateClient => {
  const recordUse = lastUses({ log, now, clock });
  const logAvailable = waitForLog(log, WAIT_FOR_LOG_MS);
  const recent = new LRUCache<string, ApiKey>({
    max: MAX_CACHED,
    ttl: FRESH_MS,
    ttlResolution: 0,
    perf: { now: clock },
  });
  return async (key, address) => {
    const known = recent.get(key);
    if (known) return known;
    await logAvailable();
    const at = clock();
    const record = await authenticate(log, key, now);
    if (!record) return undefined;
    recent.set(key, record, { start: at });
    recordUse(record, address);
    return record;
  };
};
