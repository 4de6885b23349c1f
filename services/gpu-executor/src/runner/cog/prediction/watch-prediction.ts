import { sleep } from '@runledger/resilience/abort';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunObserver } from '../../../runners/runner.ts';
import { NOTHING_READ, readLogs } from '../core/follow-logs.ts';
import type { CogApi } from '../server/cog-api.ts';
import { readAnswer, type ReadAnswer } from './read-answer.ts';

/** What is seen of a prediction while it runs. */
export interface WatchedPrediction extends AsyncDisposable {
  /** From now on it is looked at. */
  begin(): void;
  /** No look is under way any more when it resolves, with the last state that was seen. */
  stop(): Promise<ReadAnswer | null>;
  /** The lines that are new in these logs go to the run. */
  log(logs: string, isEnd: boolean): void;
}

const LOOK_EVERY_MS = 250;
/** A look takes as long as the logs and outputs so far are large. It may take a tenth of the time. */
const PAUSE_FACTOR = 9;

export const watchPrediction = (
  api: CogApi,
  id: string,
  temporary: string,
  observe: RunObserver,
): WatchedPrediction => {
  const over = new AbortController();
  let read = NOTHING_READ;
  let last: ReadAnswer | null = null;
  let looking = Promise.resolve();

  const log = (logs: string, isEnd: boolean): void => {
    const step = readLogs(read, logs, isEnd);
    ({ read } = step);
    for (const report of step.reports) observe.progress(report);
    for (const line of step.lines) observe.log({ stream: 'stdout', line });
  };

  const look = async (folder: string): Promise<void> => {
    const answer = await api.look(id, over.signal);
    if (answer.kind === 'lost') return;
    const state = await readAnswer(answer.body, folder);
    if ('kind' in state || state.prediction?.status !== 'processing') return rmFolder(folder);
    if (last !== null) await rmFolder(last.folder);
    last = state;
    log(state.prediction.logs, false);
  };

  const watch = async (): Promise<void> => {
    let pauseMs = LOOK_EVERY_MS;
    for (let number = 0; ; number += 1) {
      await sleep(pauseMs, over.signal);
      if (over.signal.aborted) return;
      const since = performance.now();
      await look(join(temporary, `look-${number}`));
      pauseMs = Math.max(LOOK_EVERY_MS, PAUSE_FACTOR * (performance.now() - since));
    }
  };

  const stop = async (): Promise<ReadAnswer | null> => {
    over.abort();
    await looking;
    return last;
  };
  return {
    begin: () => {
      looking = looking.then(watch);
    },
    stop,
    log,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
};

const rmFolder = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });
