import type { ApiKey } from '@runledger/contracts/catalogue';
import { LogUnavailable, type EventLog } from '@runledger/event-log/event-log';
import { chunkOf } from './chunk.ts';
import { recentlyUsed } from '../recently-used.ts';
import { sharedTokens } from './shared-tokens.ts';
import type { RateDecision } from './rate-decision.ts';

/** Undefined when there is no limit. */
export type LimitRate = (key: Pick<ApiKey, 'id'>) => Promise<RateDecision | undefined>;

export interface RateLimit {
  readonly log: EventLog;
  /** Requests a minute of each key, at all gateways together; 0 is none. */
  readonly limit: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long a request waits for the broker before it is let through. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 1_000;
const MOST_KEPT = 10_000;

/**
 * Whether a request of a key is within its limit. Where the broker cannot say it in time, the request is let through: what it
 * asks for needs the broker too, and is answered with 503 if that is away.
 */
export const rateLimit = ({ log, limit, clock, patienceMs = PATIENCE_MS }: RateLimit): LimitRate => {
  if (limit === 0) return async () => undefined;
  const takeTokens = sharedTokens(log, limit);
  const chunkFor = recentlyUsed(MOST_KEPT, (id: string) =>
    chunkOf({ limit, clock, takeTokens: (wanted) => takeTokens(id, wanted) }),
  );
  return async ({ id }) => {
    const chunk = chunkFor(id);
    for (;;) {
      const decision = chunk.decide();
      if (decision) return decision;
      if (!log.connected()) return chunk.letThrough();
      try {
        if ((await within(patienceMs, chunk.refill())) === 'late') return chunk.letThrough();
      } catch (error) {
        // A limit that cannot be told is never why a request fails.
        const level = error instanceof LogUnavailable ? 'debug' : 'error';
        log.logger[level]({ err: error, key_id: id }, 'a rate limit is not known; a request is let through');
        return chunk.letThrough();
      }
    }
  };
};

const within = async (ms: number, work: Promise<void>): Promise<'done' | 'late'> => {
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => late.resolve('late'), ms);
  try {
    return await Promise.race([work.then(() => 'done' as const), late.promise]);
  } finally {
    clearTimeout(timer);
  }
};
