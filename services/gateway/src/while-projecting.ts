import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { OutputStoreUnavailable } from './files/output-store.ts';
import { ViewsUnavailable } from './views/run-views.ts';

export interface WhileProjecting {
  /** For the log, such as "runs that outlive the log could not be ended". */
  readonly failure: string;
  readonly everyMs: number;
  /** Of several gateways with shared views, the one that projects does the work. */
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
  /** Ends soon after the signal. */
  readonly work: (stop: AbortSignal) => Promise<void>;
}

const CHECK_EVERY_MS = 1_000;
/** Several of them stop one after the other, within the time that a service has for its stop. */
const STOP_WITHIN_MS = 100;

/** Works from time to time, and soon after it began, while this gateway keeps the views, until it is disposed of. */
export const whileProjecting = (options: WhileProjecting): AsyncDisposable => {
  const { failure, everyMs, isProjecting, logger, work } = options;
  const stop = new AbortController();
  const working = (async () => {
    while (!stop.signal.aborted) {
      const projects = isProjecting();
      try {
        if (projects) await work(stop.signal);
      } catch (error) {
        logger[isAway(error) ? 'debug' : 'error']({ err: error }, `${failure}; trying again`);
      }
      await sleep(projects ? everyMs : Math.min(everyMs, CHECK_EVERY_MS), stop.signal);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      // While the broker is unavailable, this may take too long. Then it ends with the connection.
      await within(STOP_WITHIN_MS, working, () => undefined);
    },
  };
};

const isAway = (error: unknown): boolean =>
  error instanceof LogUnavailable ||
  error instanceof ViewsUnavailable ||
  error instanceof OutputStoreUnavailable;
