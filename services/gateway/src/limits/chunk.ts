import type { RateDecision } from './rate-decision.ts';
import { msUntil, refilled, type Taken, type Tokens } from './token-bucket.ts';

/**
 * The part of a key's limit that this gateway has taken and spends by itself, so that not every request asks the
 * broker. Others miss what is taken and not spent, so a chunk is a twentieth of the limit at most, and less where the one
 * before was not used up.
 */
export interface Chunk {
  /** Decides about one request, and counts it when it is allowed; undefined when more has to be taken first. */
  decide(): RateDecision | undefined;
  /** Counts nothing. */
  letThrough(): RateDecision;
  /** Takes more; whoever asks while that is under way waits for the same. */
  refill(): Promise<void>;
}

interface ChunkOptions {
  readonly limit: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly takeTokens: (wanted: number) => Promise<Taken>;
}

/** After this what was not spent is given up: it comes back as time goes by. */
const KEPT_MS = 10_000;
const PART = 0.05;

export const chunkOf = ({ limit, clock, takeTokens }: ChunkOptions): Chunk => {
  const most = Math.max(1, Math.floor(limit * PART));
  let wanted = most;
  let unspent = 0;
  let spent = 0;
  let until = 0;
  /** What the gateways share: what was left of it when it was last seen, on the monotonic clock. */
  let shared: Tokens = { tokens: limit, at: 0 };
  let emptyUntil = 0;
  let taking: Promise<void> | undefined;

  const giveUp = (): void => {
    wanted = Math.max(1, spent);
    unspent = 0;
  };
  const takeMore = async (): Promise<void> => {
    const { granted, left } = await takeTokens(wanted);
    const at = clock();
    // All that was asked for was spent, so the next chunk may be larger.
    wanted = Math.min(most, wanted * 2);
    unspent = granted;
    spent = 0;
    until = at + KEPT_MS;
    shared = { tokens: left.tokens, at };
    emptyUntil = granted > 0 ? 0 : at + Math.max(1, msUntil(1, left, limit));
  };
  const allowed = (): RateDecision => {
    const now = refilled(shared, clock(), limit);
    const remaining = Math.min(limit, unspent + Math.floor(now.tokens));
    const resetMs = msUntil(limit, { ...now, tokens: now.tokens + unspent }, limit);
    return { allowed: true, limit, remaining, resetS: Math.ceil(resetMs / 1000) };
  };
  return {
    decide: () => {
      const at = clock();
      if (unspent > 0 && at >= until) giveUp();
      if (unspent > 0) {
        unspent -= 1;
        spent += 1;
        return allowed();
      }
      if (at >= emptyUntil) return undefined;
      const resetS = Math.max(1, Math.ceil((emptyUntil - at) / 1000));
      return { allowed: false, limit, remaining: 0, resetS };
    },
    letThrough: allowed,
    refill: () => {
      taking ??= takeMore().finally(() => {
        taking = undefined;
      });
      return taking;
    },
  };
};
