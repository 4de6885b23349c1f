import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { tailRuns } from '@runledger/event-log/follow/tail-runs';
import { sleep } from '@runledger/resilience/abort';
import { runName } from '../../projection/core/run-name.ts';

interface TailListener {
  /** The run has a message at this sequence. */
  readonly onMessage: (sequence: number) => void;
  /** Messages may have been missed. */
  readonly onGap: () => void;
}

/** Reports which runs have new messages. */
export interface RunStreamTail extends AsyncDisposable {
  /** Calls the listener until the returned function is called. A run has one listener. */
  listen(key: RunKey, listener: TailListener): () => void;
}

export interface RunStreamTailOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long it goes on reading without a listener. */
  readonly keepForMs?: number;
}

const RETRY_AFTER_MS = 1_000;
/** Requests that wait follow each other as a rule, and a consumer costs more than the messages of some seconds. */
const KEEP_FOR_MS = 10_000;

/** One reader of all lifecycles, for all listeners. It begins with the first listener, and ends some time after the last one. */
export const runStreamTail = ({
  log,
  logger,
  clock,
  keepForMs = KEEP_FOR_MS,
}: RunStreamTailOptions): RunStreamTail => {
  const listeners = new Map<string, TailListener>();
  const stop = new AbortController();
  let lastLeft = -Infinity;
  let running: Promise<void> | undefined;

  const isUsed = (): boolean => listeners.size > 0 || clock() - lastLeft < keepForMs;
  const unused = async (): Promise<void> => {
    while (isUsed() && !stop.signal.aborted) await sleep(keepForMs, stop.signal);
  };
  const run = async (): Promise<void> => {
    while (isUsed() && !stop.signal.aborted) {
      try {
        await using tail = await tailRuns(log, {
          onMessage: (key, sequence) => listeners.get(runName(key))?.onMessage(sequence),
          onGap: () => listeners.forEach(({ onGap }) => onGap()),
        });
        const failure = await Promise.race([tail.failed, unused()]);
        if (failure) throw failure;
      } catch (error) {
        logger.warn({ err: error }, 'the stream tail was interrupted; trying again');
        await sleep(RETRY_AFTER_MS, stop.signal);
      }
    }
    running = undefined;
  };
  return {
    listen: (key, listener) => {
      const name = runName(key);
      listeners.set(name, listener);
      running ??= run();
      return () => {
        if (listeners.get(name) === listener) listeners.delete(name);
        lastLeft = clock();
      };
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};
