import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LRUCache } from 'lru-cache';
import { atMost } from '@runledger/resilience/at-most';
import { WAIT_FOR_LOG_MS, waitForLog } from '../../door/edge.ts';
import { authenticate, findValidKey } from './api-keys.ts';
import type { AuthenticateClient, Credential } from '../../door/caller.ts';
import type { RunTokens } from '../../door/credentials.ts';
import { keyStore } from './key-store.ts';
import type { Kit } from '../../kit.ts';
import type { SessionCallers } from '../people/accounts.ts';

/** A revoked key stays valid for at most this time. Revoking has to work within a second. */
const FRESH_MS = 500;
const MAX_CACHED = 1_000;

/**
 * Caches valid keys and sessions for a short time, and records the use of a key when it looks it up. Unknown keys are not cached. A token is as
 * valid as the key that made it, and its use is not one of the key.
 * Every request is authenticated first, so this is where a request waits for a log that is unavailable.
 */
export const cachedAuthentication = (
  kit: Kit,
  tokens: RunTokens,
  sessions: SessionCallers,
): Authentication => {
  const { log, now, clock } = kit;
  const recordUse = lastUses(kit);
  const logAvailable = waitForLog(log, WAIT_FOR_LOG_MS);
  /** Apart: a text that somebody sends must never find what belongs to an id, or to a session. */
  const byText = recently<ApiKey>(clock);
  const byId = recently<ApiKey>(clock);
  const bySession = recently<Credential>(clock);
  const authenticateClient: AuthenticateClient = async ({ text, from }, address) => {
    if (from === 'session')
      return bySession.find(text, async () => {
        await logAvailable();
        return sessions.find(text);
      });
    const token = tokens.read(text);
    if (token !== undefined) {
      if (token.expires_at <= now().getTime()) return undefined;
      const key = await byId.find(`${token.org_id}.${token.key_id}`, async () => {
        await logAvailable();
        return findValidKey(log, { org_id: token.org_id, id: token.key_id }, now);
      });
      return key && { key, token };
    }
    if (from === 'query') return undefined;
    const key = await byText.find(text, async () => {
      await logAvailable();
      const record = await authenticate(log, text, now);
      if (record) recordUse(record, address);
      return record;
    });
    return key && { key };
  };
  return { authenticate: authenticateClient, recentKey: byText.peek };
};

export interface Authentication {
  readonly authenticate: AuthenticateClient;
  /** The key with this text, if it was found valid within the last half second. */
  readonly recentKey: (text: string) => ApiKey | undefined;
}

interface Recent<Found> {
  readonly find: (name: string, find: Find<Found>) => Promise<Found | undefined>;
  readonly peek: (name: string) => Found | undefined;
}

type Find<Found> = () => Promise<Found | undefined>;

/** Requests that come while one is looked up share the result, unless that takes longer than a result is valid. */
const recently = <Found extends object>(clock: () => number): Recent<Found> => {
  const recent = new LRUCache<string, Found>({
    max: MAX_CACHED,
    ttl: FRESH_MS,
    ttlResolution: 0,
    perf: { now: clock },
  });
  const inFlight = new Map<string, { readonly at: number; readonly found: ReturnType<Find<Found>> }>();
  const lookUp = async (name: string, at: number, find: Find<Found>): ReturnType<Find<Found>> => {
    try {
      const found = await find();
      if (found) recent.set(name, found, { start: at });
      return found;
    } finally {
      if (inFlight.get(name)?.at === at) inFlight.delete(name);
    }
  };
  const findRecent: Recent<Found>['find'] = async (name, find) => {
    const known = recent.get(name);
    if (known) return known;
    const at = clock();
    const begun = inFlight.get(name);
    if (begun && at - begun.at < FRESH_MS) return begun.found;
    const found = lookUp(name, at, find);
    inFlight.set(name, { at, found });
    return found;
  };
  return { find: findRecent, peek: (name) => recent.get(name) };
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
      const stored = await keyStore(log).recordUse(record, { at, address }, WRITE_EVERY_MS);
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
