import { sleep } from '@runledger/resilience/abort';
import { messageOf } from '@runledger/resilience/errors';
import { restartDelays } from './restart-delays.ts';

/** A process that is kept running. */
export interface SupervisedProcess {
  /** How it ended, in words. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends the process, and settles when it has ended. */
  readonly stop: () => Promise<void>;
}

export interface KeepRunningOptions {
  /** For messages. */
  readonly name: string;
  readonly start: () => Promise<SupervisedProcess>;
  /** Prints what happened and what follows, one line each. */
  readonly print: (line: string) => void;
}

/**
 * Starts a process, and starts it again whenever it ends, after a delay that grows while it keeps ending. The first start
 * may reject. Dispose stops the process, which is then not restarted.
 */
export const keepRunning = async ({ name, start, print }: KeepRunningOptions): Promise<AsyncDisposable> => {
  const stopping = new AbortController();
  let running: SupervisedProcess | undefined = await start();

  const keep = async (): Promise<void> => {
    const delayAfter = restartDelays();
    let startedAt = performance.now();
    let how = running === undefined ? '' : await running.ended;
    while (!stopping.signal.aborted) {
      running = undefined;
      const delayMs = delayAfter(performance.now() - startedAt);
      print(`${name} ${how}. Restarting it in ${delayMs / 1000} s.`);
      await sleep(delayMs, stopping.signal);
      if (stopping.signal.aborted) return;
      startedAt = performance.now();
      how = await start().then(
        (started) => {
          running = started;
          return settled(started);
        },
        (error: unknown) => `did not start: ${messageOf(error)}`,
      );
    }
  };

  /** A stop during the start ends the new process. */
  const settled = async (started: SupervisedProcess): Promise<string> => {
    if (stopping.signal.aborted) await started.stop();
    return started.ended;
  };

  const supervision = keep();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running?.stop();
      await supervision;
    },
  };
};
