import { sleep } from '@runledger/resilience/abort';
import { restartDelays } from './restart-delays.ts';

/** A started process, whatever it is. */
export interface RunningPart {
  /** How it ended, in words, once it has. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends it, and settles when it is gone. */
  readonly stop: () => Promise<void>;
}

export interface PartSpec {
  /** How messages call it. */
  readonly name: string;
  readonly start: () => Promise<RunningPart>;
  /** Told in one line each what happened and what is done about it. */
  readonly say: (line: string) => void;
}

/**
 * Starts a part, once at first (a failure of that is the caller's), and again whenever it ends, after a wait that
 * grows while it keeps ending. Disposing stops the part and starts it no more.
 */
export const keepRunning = async ({ name, start, say }: PartSpec): Promise<AsyncDisposable> => {
  const stopping = new AbortController();
  let part: RunningPart | undefined = await start();

  const keep = async (): Promise<void> => {
    const delayAfter = restartDelays();
    let startedAt = performance.now();
    let how = part === undefined ? '' : await part.ended;
    while (!stopping.signal.aborted) {
      part = undefined;
      const delayMs = delayAfter(performance.now() - startedAt);
      say(`${name} ${how}. It is started again in ${delayMs / 1000} s.`);
      await sleep(delayMs, stopping.signal);
      if (stopping.signal.aborted) return;
      startedAt = performance.now();
      how = await start().then(
        (started) => {
          part = started;
          return settled(started);
        },
        (error: unknown) => `could not be started: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };

  /** A stop that came while the part was starting takes it down again. */
  const settled = async (started: RunningPart): Promise<string> => {
    if (stopping.signal.aborted) await started.stop();
    return started.ended;
  };

  const kept = keep();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await part?.stop();
      await kept;
    },
  };
};
