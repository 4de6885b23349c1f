import { setTimeout as pause } from 'node:timers/promises';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';
import { atOnce } from './at-once.ts';

const READERS = 16;

/** Asks until the run shows its end, and gives it. @throws when it did not succeed */
export const endedRun = async (
  { call }: Pick<MeasuredStandalone, 'call'>,
  id: string,
  askEveryMs: number,
): Promise<Record<string, unknown>> => {
  for (;;) {
    const run = await call(`/run/${id}`);
    if (run['finished'] === true) {
      if (run['status'] !== 'success') throw new Error(`run ${id} failed: ${JSON.stringify(run['error'])}`);
      return run;
    }
    await pause(askEveryMs);
  }
};

/** Reads each once when it has ended, 16 at a time. */
export const endedRuns = async (
  system: Pick<MeasuredStandalone, 'call'>,
  ids: readonly string[],
  askEveryMs: number,
): Promise<Record<string, unknown>[]> => {
  const runs: Record<string, unknown>[] = [];
  await atOnce(READERS, ids, async (id) => runs.push(await endedRun(system, id, askEveryMs)));
  return runs;
};
