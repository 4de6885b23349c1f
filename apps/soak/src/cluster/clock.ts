/** Milliseconds since the epoch. Everything that is recorded takes its time from one steady clock. */
export type Clock = () => number;

export const steadyClock: Clock = () => performance.timeOrigin + performance.now();
