/** One timer for the next tick. */
export interface Alarm extends Disposable {
  /** Rings at this time of the clock, or earlier. */
  set(at: number): void;
}

/** `clock`: monotonic, in milliseconds. */
export const openAlarm = (clock: () => number, ring: () => void): Alarm => {
  let armedFor = Infinity;
  let timer: NodeJS.Timeout | undefined;
  return {
    set: (at) => {
      if (at >= armedFor) return;
      clearTimeout(timer);
      armedFor = at;
      timer = setTimeout(
        () => {
          armedFor = Infinity;
          ring();
        },
        Math.max(at - clock(), 0),
      );
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
};
