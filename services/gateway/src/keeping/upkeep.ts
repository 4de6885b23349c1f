import { recoverMissed } from '../archive/recover-missed.ts';
import { sweepModels } from '../files/models.ts';
import { bucketCreated } from '@runledger/event-log/streams/bucket';
import { shareLogs } from '../files/stored-logs.ts';
import type { Kit } from '../kit.ts';
import { SWEEP_EVERY_MS } from '../records/quotas/sweep-times.ts';
import { expireNotification, expireRun } from '../runs/facts/expire-run.ts';
import { eraseDeleted, eraseFiles } from './erase-deleted.ts';
import { eraseOrganisations } from './erasures.ts';
import type { Keeper, Upkeep } from './keeper.ts';
import { applyRetention } from './retention.ts';
import { sweepBlobs, sweepFiles } from './sweeps.ts';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { actOnEach } from '../act-on-each.ts';
import { everyPage } from '../views/scan-list.ts';
import type { Page } from '../views/list-query.decide.ts';
import { OPEN_STATUSES } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import { expiringBefore } from '../runs/facts/expiring.decide.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** All that the gateway that projects does by itself, and how often. Each goes on where a kill has interrupted it. */
export const startUpkeep = (kit: Kit, { every }: Keeper, kept: Upkeep): void => {
  const { archive, files, fresh, records, outputs } = kept;

  // Far less than the margin before a run expires, which is 150 s for the shortest age of the log.
  every(3 * SECOND_MS, 'runs that outlive the log could not be ended', (stop) => expireRuns(kit, kept, stop));
  const recover = recoverMissed(kit, archive, kept.between);
  every(3 * SECOND_MS, 'run views that lack facts could not be made from the archive', recover);

  const erase = eraseFiles(outputs, kept.lists);
  every(SECOND_MS, 'files of deleted runs could not be erased', eraseDeleted(kit, kept, erase));
  every(SECOND_MS, 'an organisation could not be erased', eraseOrganisations(kit, kept));
  every(5 * MINUTE_MS, 'old runs and files could not be removed', applyRetention(kit, kept.retention, erase));

  every(5 * SECOND_MS, 'versions could not be kept ready', (stop) => kept.ready.keepAll(stop));

  const expiring = {
    records: kept.fileRecords,
    store: outputs,
    fileRetentionMs: files.retentionMs,
    brokerTime: kept.brokerTimeOfFiles,
  };
  every(MINUTE_MS, 'expired files could not be erased', (stop) => sweepFiles(kit, expiring, stop));
  const swept = {
    ...kept.models,
    usesOf: (org_id: string) => records.versions.models(org_id),
    catalogueCreated: () => bucketCreated(kit.log, 'CATALOGUE'),
    brokerTime: kept.brokerTimeOfFiles,
  };
  every(SWEEP_EVERY_MS, 'models that no version names could not be erased', (stop) =>
    sweepModels(kit, swept, stop),
  );
  every(
    SWEEP_EVERY_MS,
    'blobs that nothing refers to could not be erased',
    sweepBlobs(kit, fresh, records.versions),
  );
  every(2 * SECOND_MS, 'the logs of attempts could not be counted', () => shareLogs(kit));

  const afterMs = kit.config.RUNLEDGER_ARCHIVE_AFTER_HOURS * HOUR_MS;
  const archiveEveryMs = Math.max(Math.min(afterMs, MINUTE_MS), SECOND_MS);
  every(archiveEveryMs, 'facts could not be archived', archive.walk);
  every(archiveEveryMs, 'organisations that are behind could not be archived', archive.catchUp);
  // It lists every run of the archive.
  every(60 * archiveEveryMs, 'old archived runs could not be removed', archive.removeOld);
};

const PAGE = 1_000;

/** Ends each run of the views that outlives the log, and gives up each notification that does. */
const expireRuns = async (kit: Kit, kept: Upkeep, stop: AbortSignal): Promise<void> => {
  const { log, views } = kit;
  const createdBefore = expiringBefore(await readLogAge(log));
  const from = (after: SortKey | undefined) => ({ createdBefore, after, limit: PAGE });
  const expire = (key: RunKey): Promise<void> => expireRun(kit, kept, key);
  await expireAll((after) => views.listOldest({ statuses: OPEN_STATUSES, ...from(after) }), expire, stop);
  const giveUp = (key: RunKey): Promise<void> => expireNotification(kit, kept, key);
  await expireAll((after) => views.listUnsettled(from(after)), giveUp, stop);
};

const expireAll = async (
  list: (after: SortKey | undefined) => Promise<Page<RunKey>>,
  expire: (key: RunKey) => Promise<void>,
  stop: AbortSignal,
): Promise<void> => {
  for await (const keys of everyPage(list)) {
    await actOnEach(keys, async (key) => {
      if (!stop.aborted) await expire(key);
    });
    if (stop.aborted) return;
  }
};
