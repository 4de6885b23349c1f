import { setImmediate } from 'node:timers/promises';
import { rateLease, type RateLease } from '../../../src/door/rate-limit.ts';
import {
  putBack,
  refilled,
  take,
  type RateDecision,
  type Tokens,
} from '../../../src/door/rate-limit.decide.ts';

interface Due {
  readonly at: number;
  readonly gateway: number;
  readonly work: () => void;
}

/** Gateways that share one bucket, with a clock of their own. */
export interface Gateways {
  /** One request to one of them. */
  ask(gateway: number): Promise<RateDecision>;
  /** Time passes, and timers fire. */
  pass(ms: number): void;
  /** It loses the tokens that it holds; another gateway takes its place. */
  kill(gateway: number): void;
  now(): number;
  /** Tokens left in the shared bucket. */
  shared(): number;
  /** How often tokens were requested from it, and how often it changed. */
  asked(): number;
  writes(): number;
}

export const gateways = (limit: number, count: number): Gateways => {
  let now = 0;
  let shared: Tokens | undefined;
  let asked = 0;
  let writes = 0;
  let due: readonly Due[] = [];
  const start = (gateway: number): RateLease =>
    rateLease({
      limit,
      clock: () => now,
      take: async (wanted) => {
        // The way to the broker: requests of the same moment already wait when it takes.
        await setImmediate();
        asked += 1;
        const taken = take(shared, now, limit, wanted());
        if (taken.granted > 0) writes += 1;
        shared = taken.left;
        return taken;
      },
      giveBack: async (tokens) => {
        writes += 1;
        shared = putBack(shared, now, limit, tokens);
      },
      later: (ms, work) => {
        due = [...due, { at: now + ms, gateway, work }];
      },
    });
  const leases = Array.from({ length: count }, (_, gateway) => start(gateway));
  return {
    ask: async (gateway) => {
      const lease = leases[gateway % count];
      if (!lease) throw new Error('there is no gateway');
      for (;;) {
        const decision = lease.decide();
        if (decision) return decision;
        await lease.refill();
      }
    },
    pass: (ms) => {
      const until = now + ms;
      for (;;) {
        const next = due.reduce<Due | undefined>(
          (first, one) => (first && first.at <= one.at ? first : one),
          undefined,
        );
        if (!next || next.at > until) break;
        due = due.filter((one) => one !== next);
        now = next.at;
        next.work();
      }
      now = until;
    },
    kill: (gateway) => {
      due = due.filter((one) => one.gateway !== gateway);
      leases[gateway] = start(gateway);
    },
    now: () => now,
    shared: () => refilled(shared, now, limit).tokens,
    asked: () => asked,
    writes: () => writes,
  };
};
