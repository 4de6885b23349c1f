import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { authenticate } from './api-keys.ts';
import { lastUses, type LastUses } from './last-uses.ts';
import type { Authenticate } from './identify-caller.ts';
import { waitForLog } from '../http/wait-for-log.ts';
import { keepLatest } from '../concurrency/recently-used.ts';

/** A revoked key is good for so long at most: revoking has to work within a second. */
const FRESH_MS = 500;
const MOST_KEPT = 1_000;

/**
 * Asks only once in a while for a key that is used all the time, and notes its use then. Unknown keys are not remembered.
 * Nothing is done for a key before it is known, so this is where a request waits for a log that is away.
 */
export const cachedAuthentication = ({ log, now, clock }: LastUses): Authenticate => {
  const noteUse = lastUses({ log, now, clock });
  const logIsThere = waitForLog(log);
  const recent = new Map<string, { readonly at: number; readonly record: ApiKey }>();
  return async (key) => {
    const known = recent.get(key);
    if (known && clock() - known.at < FRESH_MS) return known.record;
    recent.delete(key);
    await logIsThere();
    const at = clock();
    const record = await authenticate(log, key, now);
    if (!record) return undefined;
    keepLatest(recent, MOST_KEPT, key, { at, record });
    noteUse(record);
    return record;
  };
};
