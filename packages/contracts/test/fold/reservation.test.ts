import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_FACT_BYTES,
  FACT_OVERHEAD_BYTES,
  attemptsLimit,
  NEW_ATTEMPT_BYTES,
  NEW_RUN_BYTES,
  newRunsLimit,
  reservedBytes,
  UNKNOWN_MESSAGE_BYTES,
} from '../../src/fold/log-capacity.ts';
import { isDeleted, isEnded, isExecuting, type RunState } from '../../src/fold/run.ts';
import { possibleEvent, someSteps } from '../fixtures/possible-histories.ts';

const bytesOf = (...types: readonly (keyof typeof MAX_FACT_BYTES)[]): number =>
  types.reduce((sum, type) => sum + MAX_FACT_BYTES[type] + FACT_OVERHEAD_BYTES, 0);

const ADMITTED: Partial<Record<string, number>> = {
  RunQueued: NEW_RUN_BYTES,
  RunAssigned: NEW_ATTEMPT_BYTES,
  RunOutputsDeleted: NEW_RUN_BYTES,
  RunDeleted: NEW_RUN_BYTES,
};

describe('the reservation', () => {
  it('has room for everything that accepted runs write, for any order of facts of the largest size', () => {
    const usable = 4 * NEW_RUN_BYTES + 2 * NEW_ATTEMPT_BYTES;
    fc.assert(
      fc.property(someSteps(8, 200), (steps) => {
        const runs = new Map<number, RunState>();
        const counts = { live: 0, executing: 0 };
        let bytes = 0;
        for (const step of steps) {
          const possible = possibleEvent(runs.get(step.run), step);
          if (!possible) continue;
          const { type } = possible.event;
          const needed = ADMITTED[type] ?? 0;
          if (needed > 0 && bytes + reservedBytes(counts) + needed > usable) continue;
          runs.set(step.run, possible.next);
          bytes += bytesOf(type);
          // The receiver answers at once; what follows later is in a part of the log of its own.
          if (isEnded(possible.next) && type !== 'RunOutputsDeleted')
            bytes += bytesOf('WebhookStarted', 'WebhookGivenUp');
          const present = [...runs.values()];
          counts.live = present.filter((run) => !isEnded(run) && !isDeleted(run)).length;
          counts.executing = present.filter(isExecuting).length;
          expect(bytes).toBeLessThanOrEqual(usable);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('counts a message that was not read as the one that reserves most', () => {
    expect(UNKNOWN_MESSAGE_BYTES).toBeGreaterThanOrEqual(reservedBytes({ live: 1, executing: 0 }));
    expect(UNKNOWN_MESSAGE_BYTES).toBeGreaterThanOrEqual(reservedBytes({ live: 0, executing: 1 }));
  });

  it('leaves a part of the log for outcomes of notifications; new runs also leave one for attempts', () => {
    expect(attemptsLimit(8_000)).toBe(7_000);
    expect(newRunsLimit(8_000)).toBe(6_000);
    expect([attemptsLimit(-1), newRunsLimit(-1)]).toEqual([Infinity, Infinity]);
  });
});
