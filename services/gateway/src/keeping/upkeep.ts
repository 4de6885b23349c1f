import type { Archive } from '../archive/archive.ts';
import { recoverMissed } from '../archive/recover-missed.ts';
import { eraseBlobs, unreferencedByRuns } from '../files/blobs.ts';
import type { FileRecords } from '../files/file-records.ts';
import type { Files } from '../files/files.ts';
import { shareLogs } from '../files/kept-logs.ts';
import type { OutputStore } from '../files/output-store.ts';
import type { Kit } from '../kit.ts';
import type { CatalogueRecords } from '../records/catalogue/catalogue.ts';
import type { ErasureRecords } from '../records/erasure.ts';
import type { Memberships } from '../records/people/membership.ts';
import { SWEEP_EVERY_MS } from '../records/quotas/sweep-times.ts';
import type { RetentionRecords } from '../records/retention.ts';
import {
  expireNotification,
  expireRun,
  type ExpireNotification,
  type ExpireRun,
} from '../runs/facts/expire-run.ts';
import type { CancelRun } from '../runs/facts/cancel-run.ts';
import type { ReadCurrentRun, Reading } from '../runs/facts/current-run.ts';
import type { DeleteRun } from '../runs/facts/delete-run.ts';
import type { RunProjection } from '../views/run-projection.ts';
import { eraseDeleted, eraseFiles, eraseInputFiles } from './erase-deleted.ts';
import { eraseOrganisations } from './erasures.ts';
import type { Keeper } from './keeper.ts';
import { applyRetention } from './retention.ts';
import { sweepBlobs, sweepFiles } from './sweeps.ts';
import type { OutputLists } from '@runledger/blob-store/output-lists';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { actOnEach } from '../act-on-each.ts';
import type { Page } from '../views/list-query.decide.ts';
import { OPEN_STATUSES } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import { expiringBefore } from '../runs/facts/expiring.decide.ts';

/** What runs are kept, ended and erased by. */
interface Kept extends Reading {
  readonly archive: Archive;
  readonly current: ReadCurrentRun;
  readonly lists: OutputLists;
  readonly cancel: CancelRun;
  readonly delete: DeleteRun;
}

/** What else is kept. */
interface Stored {
  readonly records: CatalogueRecords;
  readonly erasures: ErasureRecords;
  readonly retention: RetentionRecords;
  readonly memberships: Memberships;
  readonly files: Files;
  readonly fileRecords: FileRecords;
  readonly outputs: OutputStore;
  readonly brokerTimeOfFiles: () => Promise<Date>;
  readonly between: RunProjection['between'];
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Removing looks at every record. */
const ROUNDS_BETWEEN_REMOVALS = 60;

/** All that the gateway that projects does by itself, and how often. Each goes on where a kill has interrupted it. */
export const startUpkeep = (kit: Kit, { every }: Keeper, runs: Kept, stored: Stored): void => {
  const { config, stores, views, metrics } = kit;
  const { archive, current, fresh, lists } = runs;
  const { outputs, files, fileRecords, brokerTimeOfFiles, records, retention, between } = stored;
  const { upkeep } = archive;

  // Far less than the margin before a run expires, which is 150 s for the shortest age of the log.
  const [expire, giveUp] = [expireRun(kit, runs), expireNotification(kit, runs)];
  every(3 * SECOND_MS, 'runs that outlive the log could not be ended', (stop) =>
    expireRuns(kit, expire, giveUp, stop),
  );
  every(3 * SECOND_MS, 'run views that lack facts could not be made from the archive', (stop) =>
    recoverMissed(kit, archive, between, stop),
  );

  const erase = eraseFiles(outputs, lists);
  const deleted = {
    fresh,
    files: erase,
    inputFiles: eraseInputFiles(files, stores.blobs),
    blobs: eraseBlobs(stores.blobs, unreferencedByRuns(views, fresh), ({ bytes }) =>
      metrics.erased('BLOBS', bytes),
    ),
    noteErasure: archive.noteErasure,
  };
  every(SECOND_MS, 'files of deleted runs could not be erased', (stop) => eraseDeleted(kit, deleted, stop));
  every(
    SECOND_MS,
    'an organisation could not be erased',
    eraseOrganisations(kit, {
      erasures: stored.erasures,
      fresh,
      current,
      cancelRun: runs.cancel,
      deleteRun: runs.delete,
      archive,
      files: fileRecords,
      store: outputs,
      memberships: stored.memberships,
    }),
  );
  every(5 * MINUTE_MS, 'old runs and files could not be removed', applyRetention(kit, retention, erase));

  const expiring = {
    records: fileRecords,
    store: outputs,
    fileKeptMs: config.RUNLEDGER_FILE_KEEP_DAYS * DAY_MS,
    brokerTime: brokerTimeOfFiles,
  };
  every(MINUTE_MS, 'expired files could not be erased', (stop) => sweepFiles(kit, expiring, stop));
  every(
    SWEEP_EVERY_MS,
    'blobs that nothing refers to could not be erased',
    sweepBlobs(kit, fresh, records.versions),
  );
  every(2 * SECOND_MS, 'the logs of attempts could not be counted', () => shareLogs(kit));

  if (!upkeep) return;
  const { pauseMs } = upkeep;
  every(pauseMs, 'facts could not be archived', upkeep.archiveFacts);
  every(pauseMs, 'deleted runs could not be erased in the archive', upkeep.eraseDeleted);
  every(
    pauseMs * ROUNDS_BETWEEN_REMOVALS,
    'old segments of the archive could not be removed',
    upkeep.removeOld,
  );
};

const PAGE = 1_000;

/** Ends each run of the views that outlives the log, and gives up each notification that does. */
const expireRuns = async (
  { log, views }: Kit,
  expire: ExpireRun,
  expireNotification: ExpireNotification,
  stop: AbortSignal,
): Promise<void> => {
  const createdBefore = expiringBefore(await readLogAge(log));
  const from = (after: SortKey | undefined) => ({ createdBefore, after, limit: PAGE });
  await expireAll((after) => views.listOldest({ statuses: OPEN_STATUSES, ...from(after) }), expire, stop);
  await expireAll((after) => views.listUnsettled(from(after)), expireNotification, stop);
};

const expireAll = async (
  list: (after: SortKey | undefined) => Promise<Page<RunKey>>,
  expire: (key: RunKey) => Promise<void>,
  stop: AbortSignal,
): Promise<void> => {
  let after: SortKey | undefined;
  do {
    const { items, end } = await list(after);
    await actOnEach(items, async (key) => {
      if (!stop.aborted) await expire(key);
    });
    after = end;
  } while (after !== undefined && !stop.aborted);
};
