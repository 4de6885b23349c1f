/** Milliseconds since the epoch, as one steady clock tells them to everything that is recorded. */
export type Clock = () => number;

export const steadyClock: Clock = () => performance.timeOrigin + performance.now();
