import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { tailRuns } from '@runledger/event-log/follow/tail-runs';
import { sleep, untilAborted } from '@runledger/resilience/abort';
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

const RETRY_AFTER_MS = 1_000;

/** One reader of all lifecycles, for all listeners. It begins with the first listener. */
export const runStreamTail = (log: EventLog, logger: Logger): RunStreamTail => {
  const listeners = new Map<string, TailListener>();
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await using tail = await tailRuns(log, {
          onMessage: (key, sequence) => listeners.get(runName(key))?.onMessage(sequence),
          onGap: () => listeners.forEach(({ onGap }) => onGap()),
        });
        await untilAborted(tail.failed, stop.signal);
      } catch (error) {
        logger.warn({ err: error }, 'the stream tail was interrupted; trying again');
      }
      await sleep(RETRY_AFTER_MS, stop.signal);
    }
  };
  return {
    listen: (key, listener) => {
      const name = runName(key);
      listeners.set(name, listener);
      running ??= run();
      return () => {
        if (listeners.get(name) === listener) listeners.delete(name);
      };
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};
