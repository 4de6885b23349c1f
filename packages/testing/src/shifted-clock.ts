const PRELOAD = new URL('shift-clock.ts', import.meta.url);

/** The environment of a Node process whose clock is shifted by `ms`, ahead or behind. Its monotonic clock is right. */
export const shiftedClock = (ms: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=${PRELOAD.href}`,
  TEST_CLOCK_SHIFT_MS: String(ms),
});
