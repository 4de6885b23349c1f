/** A time that something may take, within what else may stop it. */
export interface TimeLimit extends Disposable {
  /** Aborted when its time is over, or the other signal is aborted. */
  readonly signal: AbortSignal;
  /** Counts from now on. */
  start(): void;
  /** Whether that was what stopped it. */
  isOver(): boolean;
}

/** The longest time of Node's timers, some 24 days. What may take longer is ended by the scheduler alone. */
const LONGEST_MS = 2 ** 31 - 1;

/** Made once: see `STOPPED` of the ledger. */
const OVER = new Error('the time limit is over');

export const openTimeLimit = (stop: AbortSignal, seconds: number): TimeLimit => {
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  return {
    signal,
    start: () => {
      const ms = seconds * 1_000;
      if (ms > LONGEST_MS) return;
      timer = setTimeout(() => {
        isOver = !stop.aborted;
        over.abort(OVER);
      }, ms);
    },
    isOver: () => isOver,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
};
