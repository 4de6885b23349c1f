/** Milliseconds since the epoch. Everything that is recorded takes its time from this steady clock. */
export const now = (): number => performance.timeOrigin + performance.now();
