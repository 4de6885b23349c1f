/**
 * What this gateway holds of what all gateways share, such as the tokens of a rate limit or the numbers of runs, so that not each costs a
 * write. Other gateways miss what is held and not spent. So a lease begins with one token, grows only while it is spent quickly, and what is
 * left after a second goes back.
 */
export interface TokenLease {
  /** How many are left. */
  readonly left: () => number;
  /** False when more have to be taken first. */
  readonly spend: () => boolean;
  /** Takes more. Calls that come meanwhile share the result. */
  readonly refill: () => Promise<void>;
  /** Gives back what is left. */
  readonly giveBack: () => Promise<void>;
}

/** What all gateways share. */
export interface SharedTokens {
  /** How many are taken at once at most, unless more callers wait. */
  readonly maxSize: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Takes tokens, and resolves with how many. It calls `wanted` late, because more callers come meanwhile. */
  readonly take: (wanted: () => number) => Promise<number>;
  /** Takes back so many, the last ones of those that it gave. Never rejects: tokens may be lost. */
  readonly giveBack: (tokens: number) => Promise<void>;
  /** Calls `work` once, after this time in milliseconds. */
  readonly later?: (ms: number, work: () => void) => void;
}

/** What is left of a lease after this time is given back. */
const LEASE_MS = 1_000;
const QUICKLY_MS = 500;

/** Keeps no process alive. */
const laterUnref = (ms: number, work: () => void): void => {
  setTimeout(work, ms).unref();
};

export const openTokenLease = ({
  maxSize,
  clock,
  later = laterUnref,
  ...shared
}: SharedTokens): TokenLease => {
  /** How many to take the next time. */
  let size = 1;
  /** How many the last time gave, and how many of those are left. */
  let taken = 0;
  let left = 0;
  let takenAt = Number.NEGATIVE_INFINITY;
  /** Callers that wait for tokens. */
  let waiting = 0;
  let taking: Promise<void> | undefined;
  let hasTimer = false;

  const giveBack = async (): Promise<void> => {
    if (left === 0) return;
    const unspent = left;
    size = Math.min(maxSize, Math.max(1, taken - unspent));
    // They must not be spent here after others may have them.
    left = 0;
    await shared.giveBack(unspent);
  };
  const giveBackAfter = (ms: number): void => {
    if (hasTimer) return;
    hasTimer = true;
    later(ms, () => {
      hasTimer = false;
      const early = takenAt + LEASE_MS - clock();
      if (early <= 0) void giveBack();
      else if (left > 0) giveBackAfter(early);
    });
  };
  const takeMore = async (): Promise<void> => {
    if (taken >= size && clock() - takenAt < QUICKLY_MS) size = Math.min(maxSize, size * 2);
    taken = await shared
      .take(() => Math.max(size, waiting))
      .finally(() => {
        waiting = 0;
      });
    left = taken;
    takenAt = clock();
    if (left > 0) giveBackAfter(LEASE_MS);
  };
  return {
    giveBack,
    left: () => left,
    spend: () => {
      if (left === 0) return false;
      left -= 1;
      return true;
    },
    refill: () => {
      waiting += 1;
      taking ??= takeMore().finally(() => {
        taking = undefined;
      });
      return taking;
    },
  };
};
