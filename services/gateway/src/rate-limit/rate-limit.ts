import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { within } from '@runledger/resilience/within';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { tokenLeaseOf, type TokenLease } from './token-lease.ts';
import { sharedTokens } from './shared-tokens.ts';
import type { RateDecision } from './core/rate-decision.ts';

type LimitedKey = Pick<ApiKey, 'id' | 'rate_key'>;

/** Undefined when there is no limit. */
export type LimitRate = (key: LimitedKey) => Promise<RateDecision | undefined>;

export interface RateLimiter {
  readonly limit: LimitRate;
  /** Counts a request that is allowed by what this gateway knows; undefined otherwise, and nothing is counted. */
  readonly atOnce: (key: LimitedKey) => RateDecision | 'no_limit' | undefined;
}

export interface RateLimit {
  readonly log: EventLog;
  /** Requests a minute of each key and the keys derived from it, at all gateways together. 0 is no limit. */
  readonly limit: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** A request that waits longer for the broker is let through. */
  readonly timeoutMs: number;
  readonly counters: RateCounters;
}

/** Called for each event, for metrics. */
export interface RateCounters {
  refused(): void;
  /** Tokens were taken from the shared bucket. */
  leaseTaken(): void;
  /** A request was let through without a token. */
  letThrough(): void;
}

export const RATE_LIMIT_TIMEOUT_MS = 1_000;
const MAX_LEASES = 10_000;

/**
 * Decides whether a request of a key is within its limit. While the broker does not answer in time, requests are let through:
 * the operation needs the broker too, and answers 503 by itself.
 */
export const rateLimit = ({ log, limit, clock, timeoutMs, counters }: RateLimit): RateLimiter => {
  if (limit === 0) return { limit: async () => undefined, atOnce: () => 'no_limit' };
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
  const atOnce: RateLimiter['atOnce'] = ({ id, rate_key = id }) => {
    const decision = leases.memo(rate_key).decide();
    return decision?.allowed === true ? decision : undefined;
  };
  const decide: LimitRate = async ({ id, rate_key = id }) => {
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
  return { limit: decide, atOnce };
};

/** Keeps no process alive: the bucket refills the tokens of a gateway that stops. */
const later = (ms: number, work: () => void): void => {
  setTimeout(work, ms).unref();
};
