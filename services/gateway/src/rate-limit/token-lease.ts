import type { RateDecision } from './core/rate-decision.ts';
import { msUntil, putBack, refilled, type Taken, type Tokens } from './core/token-bucket.ts';

/**
 * The part of a key's limit that this gateway has taken and spends by itself, so that not every request asks the
 * broker. Others miss what is taken and not spent: so a chunk begins with one token, grows only where it was spent
 * quickly, is never more than half a second of the limit, and what is left of it after a second is given back.
 */
export interface TokenLease {
  /** Decides about one request, and counts it when it is allowed; undefined when more has to be taken first. */
  decide(): RateDecision | undefined;
  /** Counts nothing. */
  letThrough(): RateDecision;
  /** Takes more; whoever asks while that is under way waits for the same. */
  refill(): Promise<void>;
}

interface TokenLeaseOptions {
  readonly limit: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Takes from what the gateways share. How many are wanted is asked late, since requests come meanwhile. */
  readonly takeTokens: (wanted: () => number) => Promise<Taken>;
  /** Where it fails, the tokens are lost: they come back as time goes by. */
  readonly giveBack: (tokens: number) => void;
  /** Does it once, so many milliseconds later. */
  readonly later: (ms: number, work: () => void) => void;
}

const KEPT_MS = 1_000;
const QUICKLY_MS = 500;
/** Of a limit. Ten gateways hold less than a tenth of it, and one that spends all of it takes twice a second. */
const MOST_PART = 1 / 120;
/** Of a limit: what has to flow in before an empty bucket is looked at again. */
const WORTH_ASKING_PART = 1 / 240;

export const tokenLeaseOf = ({
  limit,
  clock,
  takeTokens,
  giveBack,
  later,
}: TokenLeaseOptions): TokenLease => {
  const most = Math.max(1, Math.floor(limit * MOST_PART));
  const worthAsking = Math.max(1, Math.floor(limit * WORTH_ASKING_PART));
  /** What is taken for requests that are still to come, and those that wait. */
  let size = 1;
  let waiting = 0;
  let granted = 0;
  let unspent = 0;
  let takenAt = Number.NEGATIVE_INFINITY;
  /** What the gateways share: what was left of it when it was last seen, on the monotonic clock. */
  let shared: Tokens = { tokens: limit, at: 0 };
  let emptyUntil = 0;
  let taking: Promise<void> | undefined;
  let isWatched = false;

  const giveUp = (): void => {
    const tokens = unspent;
    size = Math.min(most, Math.max(1, granted - tokens));
    // Before it is given: what others may have is never spent here as well.
    unspent = 0;
    shared = putBack(shared, clock(), limit, tokens);
    giveBack(tokens);
  };
  const watch = (ms: number): void => {
    if (isWatched) return;
    isWatched = true;
    later(ms, () => {
      isWatched = false;
      if (unspent === 0) return;
      const left = takenAt + KEPT_MS - clock();
      if (left > 0) watch(left);
      else giveUp();
    });
  };
  const takeMore = async (): Promise<void> => {
    if (granted >= size && clock() - takenAt < QUICKLY_MS) size = Math.min(most, size * 2);
    const taken = await takeTokens(() => Math.max(size, waiting)).finally(() => {
      waiting = 0;
    });
    const { left } = taken;
    const at = clock();
    granted = taken.granted;
    unspent = granted;
    takenAt = at;
    shared = { tokens: left.tokens, at };
    emptyUntil = left.tokens < 1 ? at + Math.max(1, msUntil(worthAsking, left, limit)) : 0;
    if (granted > 0) watch(KEPT_MS);
  };
  const allowed = (): RateDecision => {
    const now = refilled(shared, clock(), limit);
    const remaining = Math.min(limit, unspent + Math.floor(now.tokens));
    const resetMs = msUntil(limit, { ...now, tokens: now.tokens + unspent }, limit);
    return { allowed: true, limit, remaining, resetS: Math.ceil(resetMs / 1000) };
  };
  return {
    decide: () => {
      if (unspent > 0) {
        unspent -= 1;
        return allowed();
      }
      const at = clock();
      if (at >= emptyUntil) return undefined;
      const resetS = Math.max(1, Math.ceil((emptyUntil - at) / 1000));
      return { allowed: false, limit, remaining: 0, resetS };
    },
    letThrough: allowed,
    refill: () => {
      waiting += 1;
      taking ??= takeMore().finally(() => {
        taking = undefined;
      });
      return taking;
    },
  };
};
