import { setTimeout as pause } from 'node:timers/promises';
import type { Part } from '../cluster/part.ts';
import type { Fault } from './fault-schedule.ts';

/** Carries out the schedule from now on. Resolves when everything that was struck is back and works. */
export const injectFaults = async (blows: readonly Fault[], parts: readonly Part[]): Promise<void> => {
  const begun = performance.now();
  const recoveries: Promise<void>[] = [];
  for (const { at, kind, parts: names, forMs } of blows) {
    await pause(Math.max(0, begun + at - performance.now()));
    const struck = parts.filter(({ name }) => names.includes(name));
    for (const part of struck) {
      const recovery = part.inject(kind, forMs);
      // A failure is told at the end, with all others.
      recovery.catch(() => undefined);
      recoveries.push(recovery);
    }
  }
  await Promise.all(recoveries);
};
