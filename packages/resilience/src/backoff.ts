export interface BackoffOptions {
  /** The first delay is at most this long. */
  readonly firstMs: number;
  /** No delay is longer. */
  readonly longestMs: number;
  /** From 0 to 1. Processes that lost the same server should not all reconnect at once. */
  readonly random?: () => number;
}

export interface Backoff {
  /** The next delay: at most twice as long as the one before. */
  readonly next: () => number;
  /** Begins with the first delay again, after a success. */
  readonly reset: () => void;
}

/** Delays that grow from one failure to the next, each shortened by at most a half, at random. */
export const backoff = ({ firstMs, longestMs, random = Math.random }: BackoffOptions): Backoff => {
  let limit = firstMs;
  return {
    next: () => {
      const delay = limit * (1 - random() / 2);
      limit = Math.min(limit * 2, longestMs);
      return delay;
    },
    reset: () => {
      limit = firstMs;
    },
  };
};
