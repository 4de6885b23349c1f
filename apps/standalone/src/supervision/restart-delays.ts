import { backoff } from '@runledger/resilience/backoff';

/** After so long a life an end is taken for a new mishap, not for one more of the same. */
const GOOD_LIFE_MS = 60_000;

/** Gives the wait before the next start, from how long the part lived. People read it, so it is exact. */
export const restartDelays = (): ((livedMs: number) => number) => {
  const delays = backoff({ firstMs: 500, longestMs: 30_000, random: () => 0 });
  return (livedMs) => {
    if (livedMs >= GOOD_LIFE_MS) delays.reset();
    return delays.next();
  };
};
