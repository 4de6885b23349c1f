import type { RateDecision } from './rate-decision.ts';
import { msUntil, putBack, refilled, type Taken, type Tokens } from './token-bucket.ts';

/** The tokens that one gateway holds of a limit, and what it knows of the rest. Times are monotonic, in milliseconds. */
export interface Lease {
  /** How many tokens to take the next time. */
  readonly size: number;
  /** How many the last time granted, and how many of those are left. */
  readonly granted: number;
  readonly unspent: number;
  readonly takenAt: number;
  /** The shared bucket as this gateway last saw it. */
  readonly shared: Tokens;
  /** Before this time the gateway does not read the shared bucket. */
  readonly emptyUntil: number;
}

/** What is left of a lease after this time goes back to the shared bucket. */
export const LEASE_MS = 1_000;
const QUICKLY_MS = 500;
/** Of a limit. Ten gateways hold less than a tenth of it, and one that spends all of it takes twice a second. */
const MAX_PORTION = 1 / 120;
/** Of a limit: how far an empty bucket has to refill before a gateway reads it again. */
const WORTH_TAKING_PORTION = 1 / 240;

const maxSize = (limit: number): number => Math.max(1, Math.floor(limit * MAX_PORTION));

export const emptyLease = (limit: number): Lease => ({
  size: 1,
  granted: 0,
  unspent: 0,
  takenAt: Number.NEGATIVE_INFINITY,
  shared: { tokens: limit, at: 0 },
  emptyUntil: 0,
});

/** Lets a request through without a token. */
export const uncounted = ({ shared, unspent }: Lease, now: number, limit: number): RateDecision => {
  const present = refilled(shared, now, limit);
  const remaining = Math.min(limit, unspent + Math.floor(present.tokens));
  const resetMs = msUntil(limit, { ...present, tokens: present.tokens + unspent }, limit);
  return { allowed: true, limit, remaining, resetS: Math.ceil(resetMs / 1000) };
};

/** Decides on one request, and spends a token when it is allowed; undefined when more tokens have to be taken first. */
export const spend = (
  lease: Lease,
  now: number,
  limit: number,
): { readonly decision: RateDecision; readonly lease: Lease } | undefined => {
  if (lease.unspent > 0) {
    const spent = { ...lease, unspent: lease.unspent - 1 };
    return { decision: uncounted(spent, now, limit), lease: spent };
  }
  if (now >= lease.emptyUntil) return undefined;
  const resetS = Math.max(1, Math.ceil((lease.emptyUntil - now) / 1000));
  return { decision: { allowed: false, limit, remaining: 0, resetS }, lease };
};

/** Before more is taken: a lease that was spent quickly is followed by a larger one. */
export const grown = (lease: Lease, now: number, limit: number): Lease =>
  lease.granted >= lease.size && now - lease.takenAt < QUICKLY_MS
    ? { ...lease, size: Math.min(maxSize(limit), lease.size * 2) }
    : lease;

/** With the tokens that were taken. */
export const granted = (lease: Lease, taken: Taken, now: number, limit: number): Lease => {
  const worthTaking = Math.max(1, Math.floor(limit * WORTH_TAKING_PORTION));
  const { tokens } = taken.left;
  return {
    size: lease.size,
    granted: taken.granted,
    unspent: taken.granted,
    takenAt: now,
    shared: { tokens, at: now },
    emptyUntil: tokens < 1 ? now + Math.max(1, msUntil(worthTaking, taken.left, limit)) : 0,
  };
};

/** Without the tokens that were not spent. The next lease is no larger than what was spent of this one. */
export const returned = (lease: Lease, now: number, limit: number): Lease => ({
  ...lease,
  size: Math.min(maxSize(limit), Math.max(1, lease.granted - lease.unspent)),
  unspent: 0,
  shared: putBack(lease.shared, now, limit, lease.unspent),
});
