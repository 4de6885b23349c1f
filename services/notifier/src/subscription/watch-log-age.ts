import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readLogAge } from '@runledger/event-log/messages/log-age';
import { sleep } from '@runledger/resilience/abort';
import type { NotifierInput } from '../core/state/input.ts';
import { atLog } from '../effects/effect-context.ts';

const READ_EVERY_MS = 5_000;

interface LogAgeWatchOptions {
  readonly log: EventLog;
  readonly take: (input: NotifierInput) => void;
  readonly signal: AbortSignal;
}

export interface LogAgeWatch {
  /** Resolves when the age was read for the first time, or at the signal. */
  readonly known: Promise<void>;
  /** Resolves after the signal. */
  readonly watching: Promise<void>;
}

/** Reads the age of RUNS every five seconds: an operator may change it at any time. */
export const watchLogAge = ({ log, take, signal }: LogAgeWatchOptions): LogAgeWatch => {
  const known = Promise.withResolvers<void>();
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const { maxAgeMs } = await atLog({ log }, signal)(() => readLogAge(log));
        take({ type: 'log_age_read', logAgeMs: maxAgeMs });
        known.resolve();
      } catch (error) {
        if (!signal.aborted)
          log.logger.warn({ err: error }, 'the age of the log cannot be read; trying again');
      }
      await sleep(READ_EVERY_MS, signal);
    }
    known.resolve();
  };
  return { known: known.promise, watching: watch() };
};
