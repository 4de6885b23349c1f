import { setTimeout as pause } from 'node:timers/promises';
import { isEnded } from '@runledger/contracts/fold/run';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import { foldRuns, lastOf, type LoggedRun } from '../evidence/logged-run.ts';
import type { RecordedLog } from './read-log.ts';

const POLL_EVERY_MS = 2_000;

/**
 * Waits until every run has ended and its delivery is settled. False if that is not so by the deadline, a time of
 * `performance.now()`: the checks find what is left.
 */
export const areSettledBy = async (
  deadline: number,
  recorded: RecordedLog,
  print: (line: string) => void,
): Promise<boolean> => {
  let printed = -1;
  for (;;) {
    const open = [...foldRuns(recorded.messages).values()].filter((run) => !isRunSettled(run)).length;
    if (open === 0) return true;
    if (performance.now() > deadline) return false;
    if (open !== printed) print(`${open} runs are not settled yet.`);
    printed = open;
    await pause(POLL_EVERY_MS);
  }
};

const isRunSettled = (logged: LoggedRun): boolean => {
  const run = lastOf(logged);
  return run !== undefined && isEnded(run) && !isUnsettled(run, logged.webhook);
};
