const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** After so long a life an end is taken for a new mishap, not for one more of the same. */
const GOOD_LIFE_MS = 60_000;

/** The wait before the next start, from the wait before the last one and how long that one lived. */
export const nextDelay = (lastDelayMs: number | undefined, livedMs: number): number =>
  lastDelayMs === undefined || livedMs >= GOOD_LIFE_MS ? FIRST_MS : Math.min(lastDelayMs * 2, LONGEST_MS);
