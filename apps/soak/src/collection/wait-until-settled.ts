import { setTimeout as pause } from 'node:timers/promises';
import { isEnded } from '@runledger/contracts/fold/run';
import { isSettled } from '@runledger/contracts/fold/webhook';
import { foldRuns, lastOf, type LoggedRun } from '../evidence/logged-run.ts';
import type { SeenLog } from './read-log.ts';

const LOOK_EVERY_MS = 2_000;

/** Waits until every run has ended and is told, or for so long; what is left then is for the checks to find. */
export const waitUntilSettled = async (
  seen: SeenLog,
  withinMs: number,
  say: (line: string) => void,
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  let said = -1;
  while (performance.now() < deadline) {
    const open = [...foldRuns(seen.messages).values()].filter((run) => !isThrough(run)).length;
    if (open === 0) return;
    if (open !== said) say(`${open} runs are not through yet.`);
    said = open;
    await pause(LOOK_EVERY_MS);
  }
};

const isThrough = (logged: LoggedRun): boolean => {
  const run = lastOf(logged);
  if (run === undefined || !isEnded(run)) return false;
  return run.request.webhook === null || isSettled(logged.webhook);
};
