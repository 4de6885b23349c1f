import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { Archive } from '../archive/archive.ts';
import type { FileRecords } from '../files/file-records.ts';
import type { Files } from '../files/files.ts';
import type { Models } from '../files/models.ts';
import type { Catalogue } from '../records/catalogue/catalogue.ts';
import type { KeptReady } from '../records/catalogue/kept-ready.ts';
import type { ErasureRecords } from '../records/erasure.ts';
import type { Memberships } from '../records/people/membership.ts';
import type { RetentionRecords } from '../records/retention.ts';
import type { CancelRun } from '../runs/facts/cancel-run.ts';
import type { ReadCurrentRun, Reading } from '../runs/facts/current-run.ts';
import type { DeleteRun } from '../runs/facts/delete-run.ts';
import type { RunProjection } from '../views/run-projection.ts';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { OutputStoreUnavailable, type OutputStore } from '../files/output-store.ts';
import { SchedulerUnavailable } from '../records/operators/scheduler-client.ts';
import { ViewsUnavailable } from '../views/run-views.ts';

/** What is kept, ended and erased, and what does it. */
export interface Upkeep extends Reading {
  readonly archive: Archive;
  readonly current: ReadCurrentRun;
  readonly lists: OutputLists;
  readonly cancel: CancelRun;
  readonly delete: DeleteRun;
  readonly records: Catalogue;
  readonly erasures: ErasureRecords;
  readonly retention: RetentionRecords;
  readonly ready: KeptReady;
  /** People who are members of no other organisation than an erased one have no account afterwards. */
  readonly memberships: Memberships;
  readonly files: Files;
  /** Of files that clients uploaded. */
  readonly fileRecords: FileRecords;
  /** Weights that are kept for versions. */
  readonly models: Models;
  readonly outputs: OutputStore;
  readonly brokerTimeOfFiles: () => Promise<Date>;
  readonly between: RunProjection['between'];
}

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
  error instanceof SchedulerUnavailable ||
  error instanceof ViewsUnavailable ||
  error instanceof OutputStoreUnavailable;
