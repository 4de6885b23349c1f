import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { within } from '@runledger/resilience/within';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { changeEntry, openBucket } from '@runledger/event-log/streams/bucket';
import { polledClock } from '@runledger/coordination/broker-clock';
import { Type } from 'typebox';
import {
  msUntil,
  putBack,
  refilled,
  take,
  type RateDecision,
  type Taken,
  type Tokens,
} from './rate-limit.decide.ts';
import type { Kit } from '../kit.ts';
import { openTokenLease, type SharedTokens } from '../token-lease.ts';

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
  const leases = new LRUCache<string, RateLease>({
    ...atMost(MAX_LEASES),
    memoMethod: (rate_key) =>
      rateLease({
        limit,
        clock,
        take: (wanted) => {
          counters.leaseTaken();
          return shared.take(rate_key, wanted);
        },
        giveBack: (tokens) => giveBack(rate_key, tokens),
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

/** Of a limit: how much a lease has at most. Ten gateways hold less than a tenth of it, and one that spends all of it takes twice a second. */
const MAX_PORTION = 1 / 120;
/** Of a limit: how far an empty bucket has to refill before a gateway reads it again. */
const WORTH_TAKING_PORTION = 1 / 240;

/** The part of a key's limit that this gateway has taken and spends by itself. */
export interface RateLease {
  /** Decides on one request, and counts it when it is allowed; undefined when more tokens have to be taken first. */
  decide(): RateDecision | undefined;
  /** Lets a request through and counts nothing. */
  letThrough(): RateDecision;
  refill(): Promise<void>;
}

interface LimitedTokens extends Pick<SharedTokens, 'clock' | 'giveBack' | 'later'> {
  readonly limit: number;
  /** Takes tokens from the shared bucket. It calls `wanted` late. */
  readonly take: (wanted: () => number) => Promise<Taken>;
}

export const rateLease = ({ limit, clock, take, giveBack, ...timer }: LimitedTokens): RateLease => {
  const portion = (part: number): number => Math.max(1, Math.floor(limit * part));
  /** The shared bucket as this gateway last saw it. */
  let shared: Tokens = { tokens: limit, at: 0 };
  /** Before this time the gateway does not read the shared bucket. */
  let emptyUntil = 0;
  const lease = openTokenLease({
    ...timer,
    maxSize: portion(MAX_PORTION),
    clock,
    take: async (wanted) => {
      const { granted, left } = await take(wanted);
      shared = { tokens: left.tokens, at: clock() };
      emptyUntil =
        left.tokens < 1 ? shared.at + Math.max(1, msUntil(portion(WORTH_TAKING_PORTION), left, limit)) : 0;
      return granted;
    },
    giveBack: (tokens) => {
      shared = putBack(shared, clock(), limit, tokens);
      return giveBack(tokens);
    },
  });
  const letThrough = (): RateDecision => {
    const unspent = lease.left();
    const present = refilled(shared, clock(), limit);
    const remaining = Math.min(limit, unspent + Math.floor(present.tokens));
    const resetMs = msUntil(limit, { ...present, tokens: present.tokens + unspent }, limit);
    return { allowed: true, limit, remaining, resetS: Math.ceil(resetMs / 1000) };
  };
  return {
    letThrough,
    refill: lease.refill,
    decide: () => {
      if (lease.spend()) return letThrough();
      const emptyMs = emptyUntil - clock();
      if (emptyMs <= 0) return undefined;
      return { allowed: false, limit, remaining: 0, resetS: Math.max(1, Math.ceil(emptyMs / 1000)) };
    },
  };
};

/** Under the id of a key: the tokens left of its limit, at a time of the broker's clock. */
const StoredTokens = Type.Object({ tokens: Type.Number({ minimum: 0 }), at: Type.Number() });

/** The tokens of each key's limit, which all gateways share. */
interface KeyTokens {
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
export const sharedTokens = (log: EventLog, limit: number): KeyTokens => {
  const bucket = openBucket(log, 'RATES', StoredTokens);
  const once: typeof bucket = { ...bucket, update: (...given) => bucket.updateOnce(...given) };
  const brokerNow = polledClock(log, 'KV_RATES');
  const busy = (rate_key: string): string =>
    `The rate limit of key ${rate_key} changes too fast to be counted. Try again.`;
  return {
    take: (rate_key, wanted) =>
      changeEntry(
        bucket,
        rate_key,
        async (present) => {
          const taken = take(present, await brokerNow(), limit, wanted());
          return { ...taken, ...(taken.granted > 0 && { value: taken.left }) };
        },
        busy(rate_key),
      ),
    giveBack: async (rate_key, tokens) => {
      // A bucket that does not exist is full.
      const returned = async (present: Tokens | undefined) => ({
        value: present && putBack(present, await brokerNow(), limit, tokens),
      });
      await changeEntry(once, rate_key, returned, busy(rate_key));
    },
  };
};
