import { setTimeout as pause } from 'node:timers/promises';
import { NamedExecutors } from '@runledger/contracts/http/executors';
import type { Draining } from '@runledger/contracts/http/executors';
import { at } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import { counted } from '@runledger/contracts/counted';
import { CommandError } from '../output/command-error.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';
import { plain } from '../output/plain-text.ts';

const POLL_EVERY_MS = 1_000;

/** Prints how many runs are left on a drained executor, after each change, until no run is left. @throws CommandError */
export const waitUntilEmpty = async (
  { call, screen }: Client,
  { name, runs: first }: Draining,
  json: boolean,
): Promise<void> => {
  for (let before = first; before > 0;) {
    await pause(POLL_EVERY_MS);
    const read = () => call(NamedExecutors, { method: 'GET', path: at`/executors/${name}` });
    const { executors } = await retryForAMinute(read, screen);
    if (executors.some(({ drain }) => drain === null)) throw resumedMeanwhile(name);
    const runs = executors.flatMap(({ slots }) => slots).filter(({ run }) => run !== null).length;
    if (runs === before) continue;
    before = runs;
    if (json) screen.printJson({ name, draining: true, runs } satisfies Draining);
    else screen.print(runs === 0 ? 'No run is left.' : `${counted(runs, 'run')} left.`);
  }
};

export const resumedMeanwhile = (name: string): CommandError =>
  new CommandError(`Executor ${plain(name)} was resumed meanwhile. It gets new runs again.`);
