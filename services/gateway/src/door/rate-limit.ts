import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { within } from '@runledger/resilience/within';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { polledClock } from '@runledger/coordination/broker-clock';
import { Type } from 'typebox';
import {
  emptyLease,
  granted,
  grown,
  LEASE_MS,
  returned,
  spend,
  uncounted,
  putBack,
  take,
  type RateDecision,
  type Taken,
} from './rate-limit.decide.ts';
import type { Kit } from '../kit.ts';

type LimitedKey = Pick<ApiKey, 'id' | 'rate_key'>;

/** Undefined when there is no limit. */
export type LimitRate = (key: LimitedKey) => Promise<RateDecision | undefined>;

/** A request that waits longer for the broker is let through. */
const TIMEOUT_MS = 1_000;
const MAX_LEASES = 10_000;

/**
 * Decides whether a request of a key is within its limit. While the broker does not answer in time, requests are let through:
 * the operation needs the broker too, and answers 503 by itself.
 */
export const rateLimit = (
  { config, log, clock, metrics: { rate: counters } }: Kit,
  timeoutMs = TIMEOUT_MS,
): LimitRate => {
  /** Requests a minute of each key and the keys derived from it, at all gateways together. */
  const limit = config.RUNLEDGER_RATE_LIMIT;
  if (limit === 0) return async () => undefined;
  const shared = sharedTokens(log, limit);
  /** A request never fails because its limit is unknown. */
  const note = (error: unknown, rate_key: string, what: string): void => {
    const level = error instanceof LogUnavailable ? 'debug' : 'error';
    log.logger[level]({ err: error, key_id: rate_key }, what);
  };
  const giveBack = async (rate_key: string, tokens: number): Promise<void> => {
    // While the broker is unavailable, the bucket refills by itself.
    if (!log.connected()) return;
    try {
      await shared.giveBack(rate_key, tokens);
    } catch (error) {
      note(error, rate_key, 'unspent tokens of a rate limit could not be returned');
    }
  };
  const leases = new LRUCache<string, TokenLease>({
    ...atMost(MAX_LEASES),
    memoMethod: (rate_key) =>
      tokenLeaseOf({
        limit,
        clock,
        takeTokens: (wanted) => {
          counters.leaseTaken();
          return shared.take(rate_key, wanted);
        },
        giveBack: (tokens) => void giveBack(rate_key, tokens),
        later,
      }),
  });
  return async ({ id, rate_key = id }) => {
    const lease = leases.memo(rate_key);
    const letThrough = (): RateDecision => {
      counters.letThrough();
      return lease.letThrough();
    };
    for (;;) {
      const decision = lease.decide();
      if (decision?.allowed === false) counters.refused();
      if (decision) return decision;
      if (!log.connected()) return letThrough();
      try {
        if ((await within(timeoutMs, lease.refill(), () => 'late')) === 'late') return letThrough();
      } catch (error) {
        note(error, rate_key, 'a rate limit is unknown, so a request is allowed');
        return letThrough();
      }
    }
  };
};

/** Keeps no process alive: the bucket refills the tokens of a gateway that stops. */
const later = (ms: number, work: () => void): void => {
  setTimeout(work, ms).unref();
};

/**
 * The part of a key's limit that this gateway has taken and spends by itself, so that not every request needs the
 * broker. Other gateways miss what is taken and not spent. So a lease begins with one token, grows only while it is spent
 * quickly, is never more than half a second of the limit, and goes back after a second.
 */
export interface TokenLease {
  /** Decides on one request, and counts it when it is allowed; undefined when more tokens have to be taken first. */
  decide(): RateDecision | undefined;
  /** Lets a request through and counts nothing. */
  letThrough(): RateDecision;
  /** Takes more tokens. Calls that come meanwhile share the result. */
  refill(): Promise<void>;
}

interface TokenLeaseOptions {
  readonly limit: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Takes tokens from the shared bucket. It calls `wanted` late, because more requests come meanwhile. */
  readonly takeTokens: (wanted: () => number) => Promise<Taken>;
  /** When it fails, the tokens are lost: the bucket refills with time. */
  readonly giveBack: (tokens: number) => void;
  /** Calls `work` once, after this time in milliseconds. */
  readonly later: (ms: number, work: () => void) => void;
}

export const tokenLeaseOf = ({
  limit,
  clock,
  takeTokens,
  giveBack,
  later,
}: TokenLeaseOptions): TokenLease => {
  let lease = emptyLease(limit);
  /** Requests that wait for tokens. */
  let waiting = 0;
  let taking: Promise<void> | undefined;
  let hasTimer = false;

  const giveUnspentBack = (): void => {
    const tokens = lease.unspent;
    // They must not be spent here after others may have them.
    lease = returned(lease, clock(), limit);
    giveBack(tokens);
  };
  const giveBackAfter = (ms: number): void => {
    if (hasTimer) return;
    hasTimer = true;
    later(ms, () => {
      hasTimer = false;
      if (lease.unspent === 0) return;
      const left = lease.takenAt + LEASE_MS - clock();
      if (left > 0) giveBackAfter(left);
      else giveUnspentBack();
    });
  };
  const takeMore = async (): Promise<void> => {
    lease = grown(lease, clock(), limit);
    const taken = await takeTokens(() => Math.max(lease.size, waiting)).finally(() => {
      waiting = 0;
    });
    lease = granted(lease, taken, clock(), limit);
    if (taken.granted > 0) giveBackAfter(LEASE_MS);
  };
  return {
    decide: () => {
      const spent = spend(lease, clock(), limit);
      lease = spent?.lease ?? lease;
      return spent?.decision;
    },
    letThrough: () => uncounted(lease, clock(), limit),
    refill: () => {
      waiting += 1;
      taking ??= takeMore().finally(() => {
        taking = undefined;
      });
      return taking;
    },
  };
};

/** Under the id of a key: the tokens left of its limit, at a time of the broker's clock. */
const Tokens = Type.Object({ tokens: Type.Number({ minimum: 0 }), at: Type.Number() });

/** Enough for twenty gateways that write the same key at once. */
const MAX_TRIES = 50;

/** The tokens of each key's limit, which all gateways share. */
interface SharedTokens {
  /**
   * Takes the number of tokens that `wanted` returns, or as many as are left. It calls `wanted` late.
   * @throws {LogUnavailable} some tokens may be taken then, and are lost
   */
  take(rate_key: string, wanted: () => number): Promise<Taken>;
  /**
   * Gives back tokens that were not spent. A write whose answer is lost is not repeated, because it may have happened:
   * no token comes back twice, and some may be lost.
   * @throws {LogUnavailable}
   */
  giveBack(rate_key: string, tokens: number): Promise<void>;
}

/**
 * All gateways together never take more than the limit: of several that write at the same time one succeeds, and the
 * others read again. Times are the broker's, because the gateways' clocks may differ.
 */
export const sharedTokens = (log: EventLog, limit: number): SharedTokens => {
  const bucket = openBucket(log, 'RATES', Tokens);
  const brokerNow = polledClock(log, 'KV_RATES');
  return {
    take: async (rate_key, wanted) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const entry = await bucket.get(rate_key);
        const taken = take(entry?.value, await brokerNow(), limit, wanted());
        if (taken.granted === 0) return taken;
        const written = entry
          ? await bucket.update(rate_key, taken.left, entry.revision)
          : await bucket.create(rate_key, taken.left);
        if (written !== false) return taken;
      }
      throw changesTooFast(rate_key);
    },
    giveBack: async (rate_key, tokens) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const entry = await bucket.get(rate_key);
        // A bucket that does not exist is full.
        if (!entry) return;
        const left = putBack(entry.value, await brokerNow(), limit, tokens);
        if ((await bucket.updateOnce(rate_key, left, entry.revision)) !== false) return;
      }
      throw changesTooFast(rate_key);
    },
  };
};

const changesTooFast = (rate_key: string): LogUnavailable =>
  new LogUnavailable(`The rate limit of key ${rate_key} changes too fast to be counted. Try again.`);
