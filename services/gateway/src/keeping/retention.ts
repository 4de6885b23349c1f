import type { Retention } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import { lifetimeProblems } from '@runledger/contracts/lifetimes';
import type { Logger } from '@runledger/event-log/connect/observability';
import { readLogAge, type LogAge } from '@runledger/event-log/read/stream-identity';
import { isEnded } from '@runledger/contracts/fold/run';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { eraseLogs } from '@runledger/event-log/streams/logs';
import type { Kit } from '../kit.ts';
import type { Work } from './keeper.ts';
import { createdBefore, DAY_MS, endedBefore, isOver } from '../records/retention.decide.ts';
import type { RetentionRecords } from '../records/retention.ts';
import { actOnEach } from '../act-on-each.ts';
import { everyPage } from '../views/scan-list.ts';
import type { FilesQuery, OldestQuery } from '../views/list-query.decide.ts';
import { FINAL_STATUSES, type StoredView } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import type { EraseFiles } from './erase-deleted.ts';

/**
 * Removes what is older than the installation and each organisation want. What is left to remove is in the
 * views, so a crash loses nothing.
 */
export const applyRetention = (kit: Kit, records: RetentionRecords, erase: EraseFiles): Work => {
  const warn = warnOnce(kit.logger);
  return (stop) => retain(kit, records, { erase, stop }, warn);
};

/** One time of looking for what is old enough. It ends soon after the signal. */
interface Round {
  readonly erase: EraseFiles;
  readonly stop: AbortSignal;
}

const retain = async (
  kit: Kit,
  records: RetentionRecords,
  round: Round,
  warn: (chosen: Retention, age: LogAge) => void,
): Promise<void> => {
  const { RUNLEDGER_RUN_RETENTION_DAYS: runsDays } = kit.config;
  const age = await readLogAge(kit.log);
  await removeOldRuns(kit, round, { createdBefore: createdBefore(runsDays, age) });
  await removeDeletedRuns(kit, round.stop);
  for await (const chosen of records.all()) {
    if (round.stop.aborted) return;
    const org_id = orgId(chosen.org_id);
    const { runs_days, outputs_days } = chosen;
    if (runs_days !== null) {
      warn(chosen, age);
      await removeOldRuns(kit, round, { org_id, createdBefore: createdBefore(runs_days, age) });
    }
    if (outputs_days !== null) {
      await eraseOldFiles(kit, round, { org_id, endedBefore: endedBefore(outputs_days, age) });
    }
  }
};

/** Once for each organisation: the log was made to keep facts for longer than the organisation's runs. */
const warnOnce = (logger: Logger): ((chosen: Retention, age: LogAge) => void) => {
  const warned = new Set<string>();
  return ({ org_id, runs_days }, { maxAgeMs }) => {
    const problems = lifetimeProblems({ log: maxAgeMs, ownRuns: (runs_days ?? Infinity) * DAY_MS });
    if (problems.length === 0) warned.delete(org_id);
    else if (!warned.has(org_id)) {
      warned.add(org_id);
      for (const problem of problems) logger.warn({ org_id, problem }, 'two lifetimes do not fit');
    }
  };
};

/**
 * Erases the output files of old runs. The view then says that the run has no bytes of files; it still lists them, as files that
 * have expired. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseOldFiles = async (
  { views, metrics }: Kit,
  { erase, stop }: Round,
  which: Omit<FilesQuery, 'limit'>,
): Promise<void> => {
  const eraseOne = async (view: StoredView): Promise<StoredView[]> => {
    const { run } = view;
    if (stop.aborted || !isEnded(run)) return [];
    metrics.removed('retention', { runs: 0, bytes: await erase(run.org_id, run) });
    return [{ ...view, run: { ...run, output_bytes: 0 } }];
  };
  for (let seen = 0; seen < IN_A_ROUND && !stop.aborted; seen += PAGE) {
    const page = await views.listWithFiles({ ...which, limit: PAGE });
    await views.save((await actOnEach(page, eraseOne, MAX_CONCURRENT)).flat());
    if (page.length < PAGE) return;
  }
};

/**
 * Removes what is left of deleted runs: views with nothing in them, which stand in the way of stale ones. They stay while the log holds
 * anything of the run, as those of other old runs do. @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
const removeDeletedRuns = async ({ log, views }: Kit, stop: AbortSignal): Promise<void> => {
  const ifForgotten = async (view: StoredView): Promise<StoredView[]> =>
    (await lastOfRun(log, view.run)) > 0 ? [] : [view];
  for (let seen = 0; seen < IN_A_ROUND && !stop.aborted; seen += PAGE) {
    const page = await views.listErased(PAGE);
    const forgotten = (await actOnEach(page, ifForgotten, MAX_CONCURRENT)).flat();
    await views.remove(forgotten);
    // The log forgets in the order of the page.
    if (forgotten.length < PAGE) return;
  }
};

/**
 * Removes old runs that are over, with their files. The view goes last, so whatever is interrupted is repeated. A run stays while the
 * log holds anything of it: its view would come back when the views are derived again, and something may follow.
 * @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
export const removeOldRuns = async (
  { log, views, metrics }: Kit,
  { erase, stop }: Round,
  which: Pick<OldestQuery, 'org_id' | 'createdBefore'>,
): Promise<void> => {
  const prepare = async (view: StoredView): Promise<StoredView[]> => {
    if (stop.aborted || !isOver(view)) return [];
    const { run } = view;
    if ((await lastOfRun(log, run)) > 0) return [];
    metrics.removed('retention', { runs: 0, bytes: await erase(run.org_id, run) });
    await eraseLogs(log, run);
    return [view];
  };
  const list = (after: SortKey | undefined) =>
    views.listOldest({ ...which, statuses: FINAL_STATUSES, limit: PAGE, after });
  let seen = 0;
  for await (const page of everyPage(list)) {
    const prepared = (await actOnEach(await views.load(page), prepare, MAX_CONCURRENT)).flat();
    metrics.removed('retention', { runs: await views.remove(prepared), bytes: 0 });
    seen += PAGE;
    if (seen >= IN_A_ROUND || stop.aborted) return;
  }
};

/** Views that are read at once. */
const PAGE = 200;
/** Runs of one organisation, so that those of others have their turn. The next round goes on. */
const IN_A_ROUND = 100_000;
const MAX_CONCURRENT = 8;
