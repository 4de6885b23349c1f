import { emptyLease, granted, grown, LEASE_MS, returned, spend, uncounted } from './core/lease.ts';
import type { RateDecision } from './core/rate-decision.ts';
import type { Taken } from './core/token-bucket.ts';

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
