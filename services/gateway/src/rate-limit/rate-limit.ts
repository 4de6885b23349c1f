import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { within } from '@runledger/resilience/within';
import { LRUCache } from 'lru-cache';
import { tokenLeaseOf, type TokenLease } from './token-lease.ts';
import { sharedTokens } from './shared-tokens.ts';
import type { RateDecision } from './core/rate-decision.ts';

/** Undefined when there is no limit. */
export type LimitRate = (key: Pick<ApiKey, 'id' | 'rate_key'>) => Promise<RateDecision | undefined>;

export interface RateLimit {
  readonly log: EventLog;
  /** Requests a minute of each key with all that were made with it, at all gateways together; 0 is none. */
  readonly limit: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long a request waits for the broker before it is let through. */
  readonly patienceMs?: number;
  readonly counts?: RateCounters;
}

/** Who is told, to count it. */
export interface RateCounters {
  refused(): void;
  /** More of a limit was taken from what the gateways share. */
  leaseTaken(): void;
  /** A request went uncounted. */
  letThrough(): void;
}

const PATIENCE_MS = 1_000;
const MOST_KEPT = 10_000;

/**
 * Whether a request of a key is within its limit. Where the broker cannot say it in time, the request is let through: what it
 * asks for needs the broker too, and is answered with 503 if that is away.
 */
export const rateLimit = ({ log, limit, clock, patienceMs = PATIENCE_MS, counts }: RateLimit): LimitRate => {
  if (limit === 0) return async () => undefined;
  const shared = sharedTokens(log, limit);
  /** A limit that cannot be told is never why a request fails. */
  const note = (error: unknown, rate_key: string, what: string): void => {
    const level = error instanceof LogUnavailable ? 'debug' : 'error';
    log.logger[level]({ err: error, key_id: rate_key }, what);
  };
  const giveBack = async (rate_key: string, tokens: number): Promise<void> => {
    // What a broker that is away misses flows in again until it is back.
    if (!log.connected()) return;
    try {
      await shared.giveBack(rate_key, tokens);
    } catch (error) {
      note(error, rate_key, 'what was not spent of a rate limit could not be given back');
    }
  };
  const kept = new LRUCache<string, TokenLease>({
    max: MOST_KEPT,
    memoMethod: (rate_key) =>
      tokenLeaseOf({
        limit,
        clock,
        takeTokens: (wanted) => {
          counts?.leaseTaken();
          return shared.take(rate_key, wanted);
        },
        giveBack: (tokens) => void giveBack(rate_key, tokens),
        later,
      }),
  });
  return async ({ id, rate_key = id }) => {
    const chunk = kept.memo(rate_key);
    const letThrough = (): RateDecision => {
      counts?.letThrough();
      return chunk.letThrough();
    };
    for (;;) {
      const decision = chunk.decide();
      if (decision?.allowed === false) counts?.refused();
      if (decision) return decision;
      if (!log.connected()) return letThrough();
      try {
        if ((await within(patienceMs, chunk.refill(), () => 'late')) === 'late') return letThrough();
      } catch (error) {
        note(error, rate_key, 'a rate limit is not known; a request is let through');
        return letThrough();
      }
    }
  };
};

/** Keeps no process alive: what a gateway that stops has not spent flows in again. */
const later = (ms: number, work: () => void): void => {
  setTimeout(work, ms).unref();
};
