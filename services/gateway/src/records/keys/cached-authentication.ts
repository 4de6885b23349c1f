import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LRUCache } from 'lru-cache';
import { atMost } from '@runledger/resilience/at-most';
import { WAIT_FOR_LOG_MS, waitForLog } from '../../door/edge.ts';
import { authenticate, findValidKey, FRESH_MS, recentKey } from './api-keys.ts';
import type { AuthenticateClient, Credential } from '../../door/caller.ts';
import type { RunTokens } from '../../door/credentials.ts';
import { recordUse } from './key-store.ts';
import type { Kit } from '../../kit.ts';
import type { SessionCallers } from '../people/sessions.ts';

const MAX_CACHED = 1_000;

/**
 * Finds keys in their table, caches sessions for as short a time, and records the use of a key. A token is as valid as the key that made it,
 * and its use is not one of the key.
 * Every request is authenticated first, so this is where a request waits for a log that is unavailable.
 */
export const cachedAuthentication = (
  kit: Kit,
  tokens: RunTokens,
  sessions: SessionCallers,
): AuthenticateClient => {
  const { log, now, clock } = kit;
  const noteUse = lastUses(kit);
  const logAvailable = waitForLog(log, WAIT_FOR_LOG_MS);
  const bySession = recently<Credential>(clock);
  return async ({ text, from }, address) => {
    if (from === 'session')
      return bySession(text, async () => {
        await logAvailable();
        return sessions.find(text);
      });
    const token = tokens.read(text);
    if (token !== undefined) {
      if (token.expires_at <= now().getTime()) return undefined;
      await logAvailable();
      const of = { org_id: token.org_id, id: token.key_id };
      const key = await findValidKey(log, of, now, FRESH_MS);
      return key && { key, token };
    }
    if (from === 'query') return undefined;
    const recent = recentKey(log, text, now);
    if (recent === undefined) await logAvailable();
    const key = recent ?? (await authenticate(log, text, now));
    if (key) noteUse(key, address);
    return key && { key };
  };
};

/** Requests that come within the time for which a result is valid share it, also while it is looked up. */
const recently = <Found>(
  clock: () => number,
): ((name: string, find: () => Promise<Found | undefined>) => Promise<Found | undefined>) => {
  const recent = new LRUCache<string, Promise<Found | undefined>>({
    max: MAX_CACHED,
    ttl: FRESH_MS,
    ttlResolution: 0,
    perf: { now: clock },
  });
  return (name, find) => {
    const known = recent.get(name);
    if (known) return known;
    const found = find();
    recent.set(name, found);
    const forget = (): void => {
      if (recent.peek(name) === found) recent.delete(name);
    };
    found.then((one) => one ?? forget(), forget);
    return found;
  };
};

const WRITE_EVERY_MS = 60_000;
const MAX_LAST_USES = 10_000;
const MAX_CONCURRENT_WRITES = 50;

/** Of the client; undefined when the connection was closed already. */
type RecordUse = (record: ApiKey, address: string | undefined) => void;

/** When the stored use was, on the monotonic clock. */
interface Recorded {
  at: number;
}

/**
 * Writes when and from where a key was used: at its first use, and then at most once a minute, whichever gateways see it. Writes
 * run in the background and neither delay nor fail a request. A failed write is repeated with a later use.
 */
export const lastUses = ({ log, now, clock }: Kit): RecordUse => {
  const cache = new LRUCache<string, Recorded>({
    ...atMost(MAX_LAST_USES),
    memoMethod: () => ({ at: Number.NEGATIVE_INFINITY }),
  });
  let writing = 0;
  const write = async (record: ApiKey, address: string | undefined, recorded: Recorded): Promise<void> => {
    writing += 1;
    const [at, began] = [now(), clock()];
    try {
      const stored = await recordUse(log, record, { at, address }, WRITE_EVERY_MS);
      recorded.at = began - Math.max(0, at.getTime() - stored.getTime());
    } catch (error) {
      log.logger.debug({ err: error, key_id: record.id }, 'the last use of an API key could not be stored');
      recorded.at = Number.NEGATIVE_INFINITY;
    } finally {
      writing -= 1;
    }
  };
  return (record, address) => {
    const recorded = cache.memo(record.id);
    const at = clock();
    if (at - recorded.at < WRITE_EVERY_MS || writing >= MAX_CONCURRENT_WRITES) return;
    recorded.at = at;
    void write(record, address, recorded);
  };
};
