import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { OutputStoreUnavailable } from '../files/output-store.ts';
import { ViewsUnavailable } from '../views/run-views.ts';

/** Work from time to time. It ends soon after the signal. */
export type Work = (stop: AbortSignal) => Promise<void>;

/** Of several gateways with shared views, the one that projects does this work. */
export interface Keeper extends AsyncDisposable {
  /** Works now and every so many milliseconds, while this gateway projects. `failure` is for the log, such as "old runs could not be removed". */
  readonly every: (ms: number, failure: string, work: Work) => void;
}

const CHECK_EVERY_MS = 1_000;
/** A service has a time for its whole stop. */
const STOP_WITHIN_MS = 100;

export const openKeeper = (isProjecting: () => boolean, logger: Logger): Keeper => {
  const stop = new AbortController();
  const working: Promise<void>[] = [];
  const repeat = async (ms: number, failure: string, work: Work): Promise<void> => {
    while (!stop.signal.aborted) {
      const projects = isProjecting();
      try {
        if (projects) await work(stop.signal);
      } catch (error) {
        logger[isAway(error) ? 'debug' : 'error']({ err: error }, `${failure}; trying again`);
      }
      await sleep(projects ? ms : Math.min(ms, CHECK_EVERY_MS), stop.signal);
    }
  };
  return {
    every: (ms, failure, work) => void working.push(repeat(ms, failure, work)),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      // While the broker is unavailable, this may take too long. Then it ends with the connection.
      await within(STOP_WITHIN_MS, Promise.all(working), () => undefined);
    },
  };
};

const isAway = (error: unknown): boolean =>
  error instanceof LogUnavailable ||
  error instanceof ViewsUnavailable ||
  error instanceof OutputStoreUnavailable;
