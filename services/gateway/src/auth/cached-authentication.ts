import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LRUCache } from 'lru-cache';
import { authenticate } from './api-keys.ts';
import { lastUses, type LastUses } from './last-uses.ts';
import type { Authenticate } from './identify-caller.ts';
import { waitForLog } from '../http/wait-for-log.ts';

/** A revoked key stays valid for at most this long. Revoking has to work within a second. */
const FRESH_MS = 500;
const MOST_KEPT = 1_000;

/**
 * Asks only once in a while for a key that is used all the time, and notes its use then. Unknown keys are not remembered.
 * Nothing is done for a key before it is known, so this is where a request waits for a log that is away.
 */
export const cachedAuthentication = ({ log, now, clock }: LastUses): Authenticate => {
  const noteUse = lastUses({ log, now, clock });
  const logIsThere = waitForLog(log);
  const recent = new LRUCache<string, ApiKey>({
    max: MOST_KEPT,
    ttl: FRESH_MS,
    ttlResolution: 0,
    perf: { now: clock },
  });
  return async (key) => {
    const known = recent.get(key);
    if (known) return known;
    await logIsThere();
    const at = clock();
    const record = await authenticate(log, key, now);
    if (!record) return undefined;
    recent.set(key, record, { start: at });
    noteUse(record);
    return record;
  };
};
