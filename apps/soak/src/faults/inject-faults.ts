import { setTimeout as pause } from 'node:timers/promises';
import type { Part } from '../cluster/part.ts';
import type { Fault } from './fault-schedule.ts';

/** Injects the faults of the schedule, starting now. Resolves when every affected part works again. */
export const injectFaults = async (faults: readonly Fault[], parts: readonly Part[]): Promise<void> => {
  const begunAt = performance.now();
  const recoveries: Promise<boolean>[] = [];
  for (const { at, kind, parts: names, forMs } of faults) {
    await pause(Math.max(0, begunAt + at - performance.now()));
    for (const part of parts.filter(({ name }) => names.includes(name))) {
      const recovery = part.inject(kind, forMs);
      // The Promise.all below reports a failure.
      recovery.catch(() => undefined);
      recoveries.push(recovery);
    }
  }
  await Promise.all(recoveries);
};
