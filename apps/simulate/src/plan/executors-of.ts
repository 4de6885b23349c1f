import type { PlannedExecutor } from './plan.ts';

const SLOTS_OF_ONE = 8;

/** Executors for so many slots, at most eight on each. */
export const executorsOf = (slots: number, gpu: string): PlannedExecutor[] =>
  Array.from({ length: Math.ceil(slots / SLOTS_OF_ONE) }, (_, n) => ({
    slots: Array.from({ length: Math.min(SLOTS_OF_ONE, slots - n * SLOTS_OF_ONE) }, () => gpu),
  }));
