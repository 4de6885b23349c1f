import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LRUCache } from 'lru-cache';
import { WAIT_FOR_LOG_MS, waitForLog } from '../http/wait-for-log.ts';
import { authenticate, findValidKey } from './api-keys.ts';
import type { AuthenticateClient } from './identify-caller.ts';
import { lastUses, type LastUses } from './last-uses.ts';
import type { RunTokens } from './run-token.ts';

/** A revoked key stays valid for at most this time. Revoking has to work within a second. */
const FRESH_MS = 500;
const MAX_CACHED = 1_000;

export interface CachedAuthentication extends LastUses {
  readonly tokens: Pick<RunTokens, 'read'>;
}

/**
 * Caches valid keys for a short time, and records the use of a key when it looks it up. Unknown keys are not cached. A token is as
 * valid as the key that made it, and its use is not one of the key.
 * Every request is authenticated first, so this is where a request waits for a log that is unavailable.
 */
export const cachedAuthentication = ({
  log,
  now,
  clock,
  tokens,
}: CachedAuthentication): AuthenticateClient => {
  const recordUse = lastUses({ log, now, clock });
  const logAvailable = waitForLog(log, WAIT_FOR_LOG_MS);
  /** Two: a text that somebody sends must never find what belongs to an id. */
  const byText = recently(clock);
  const byId = recently(clock);
  return async ({ text, isInQuery }, address) => {
    const token = tokens.read(text);
    if (token !== undefined) {
      if (token.expires_at <= now().getTime()) return undefined;
      const key = await byId(`${token.org_id}.${token.key_id}`, async () => {
        await logAvailable();
        return findValidKey(log, { org_id: token.org_id, id: token.key_id }, now);
      });
      return key && { key, token };
    }
    if (isInQuery) return undefined;
    const key = await byText(text, async () => {
      await logAvailable();
      const record = await authenticate(log, text, now);
      if (record) recordUse(record, address);
      return record;
    });
    return key && { key };
  };
};

type FindKey = () => Promise<ApiKey | undefined>;

const recently = (clock: () => number): ((name: string, find: FindKey) => Promise<ApiKey | undefined>) => {
  const recent = new LRUCache<string, ApiKey>({
    max: MAX_CACHED,
    ttl: FRESH_MS,
    ttlResolution: 0,
    perf: { now: clock },
  });
  return async (name, find) => {
    const known = recent.get(name);
    if (known) return known;
    const at = clock();
    const found = await find();
    if (found) recent.set(name, found, { start: at });
    return found;
  };
};
