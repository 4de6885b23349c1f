import { backoff } from '@runledger/resilience/backoff';

/** The end of a process that ran this long starts a new series of delays. */
const STABLE_AFTER_MS = 60_000;

/** Returns the delay before the next start from how long the process ran. The delay is not random, because people read it. */
export const restartDelays = (): ((ranMs: number) => number) => {
  const delays = backoff({ firstMs: 500, longestMs: 30_000, random: () => 0 });
  return (ranMs) => {
    if (ranMs >= STABLE_AFTER_MS) delays.reset();
    return delays.next();
  };
};
