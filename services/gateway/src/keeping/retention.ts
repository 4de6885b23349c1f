import type { Retention } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import { lifetimeProblems } from '@runledger/contracts/lifetimes';
import type { Logger } from '@runledger/event-log/connect/logger';
import { readLogAge, type LogAge } from '@runledger/event-log/messages/log-age';
import { isEnded } from '@runledger/contracts/fold/run';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { eraseLogs } from '@runledger/event-log/streams/logs';
import { whileProjecting } from '../while-projecting.ts';
import { createdBefore, DAY_MS, endedBefore, isOver } from '../records/retention.decide.ts';
import type { RetentionRecords } from '../records/retention.ts';
import { actOnEach } from '../act-on-each.ts';
import type { FilesQuery, OldestQuery } from '../views/list-query.decide.ts';
import { FINAL_STATUSES, type StoredView } from '../views/run-view.ts';
import type { RunViews } from '../views/run-views.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import type { EraseFiles } from './erase-deleted.ts';

export interface RetentionOptions extends Omit<
  RemoveOldRunsOptions & EraseOldFilesOptions & RemoveDeletedRunsOptions,
  'stop'
> {
  readonly records: Pick<RetentionRecords, 'all'>;
  /** Days for which the installation keeps runs. */
  readonly runsDays: number;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const APPLY_EVERY_MS = 5 * 60_000;

/**
 * Removes what is older than the installation and each organisation want, until it is disposed of. What is left to remove is in the
 * views, so a crash loses nothing.
 */
export const openRetention = (options: RetentionOptions): AsyncDisposable => {
  const warn = warnOnce(options.logger);
  return whileProjecting({
    failure: 'old runs and files could not be removed',
    everyMs: APPLY_EVERY_MS,
    isProjecting: options.isProjecting,
    logger: options.logger,
    work: (stop) => applyRetention({ ...options, stop }, warn),
  });
};

const applyRetention = async (
  options: RetentionOptions & Pick<RemoveOldRunsOptions, 'stop'>,
  warn: (chosen: Retention, age: LogAge) => void,
): Promise<void> => {
  const { log, records, runsDays, stop } = options;
  const age = await readLogAge(log);
  await removeOldRuns(options, { createdBefore: createdBefore(runsDays, age) });
  await removeDeletedRuns(options);
  for await (const chosen of records.all()) {
    if (stop.aborted) return;
    const org_id = orgId(chosen.org_id);
    const { runs_days, outputs_days } = chosen;
    if (runs_days !== null) {
      warn(chosen, age);
      await removeOldRuns(options, { org_id, createdBefore: createdBefore(runs_days, age) });
    }
    if (outputs_days !== null) {
      await eraseOldFiles(options, { org_id, endedBefore: endedBefore(outputs_days, age) });
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

interface EraseOldFilesOptions extends Round {
  readonly views: Pick<RunViews, 'listWithFiles' | 'save'>;
}

/**
 * Erases the output files of old runs. The view then says that the run has no bytes of files; it still lists them, as files that
 * have expired. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseOldFiles = async (
  { views, erase, onRemoved, stop }: EraseOldFilesOptions,
  which: Omit<FilesQuery, 'limit'>,
): Promise<void> => {
  const eraseOne = async (view: StoredView): Promise<StoredView[]> => {
    const { run } = view;
    if (stop.aborted || !isEnded(run)) return [];
    onRemoved({ runs: 0, bytes: await erase(run.org_id, run) });
    return [{ ...view, run: { ...run, output_bytes: 0 } }];
  };
  for (let seen = 0; seen < IN_A_ROUND && !stop.aborted; seen += PAGE) {
    const page = await views.listWithFiles({ ...which, limit: PAGE });
    await views.save((await actOnEach(page, eraseOne, MAX_CONCURRENT)).flat());
    if (page.length < PAGE) return;
  }
};

interface RemoveDeletedRunsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'listErased' | 'remove'>;
  /** The round ends soon after it. */
  readonly stop: AbortSignal;
}

/**
 * Removes what is left of deleted runs: views with nothing in them, which stand in the way of stale ones. They stay while the log holds
 * anything of the run, as those of other old runs do. @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
const removeDeletedRuns = async ({ log, views, stop }: RemoveDeletedRunsOptions): Promise<void> => {
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

interface RemoveOldRunsOptions extends Round {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'listOldest' | 'load' | 'remove'>;
}

/**
 * Removes old runs that are over, with their files. The view goes last, so whatever is interrupted is repeated. A run stays while the
 * log holds anything of it: its view would come back when the views are derived again, and something may follow.
 * @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
export const removeOldRuns = async (
  { log, views, erase, onRemoved, stop }: RemoveOldRunsOptions,
  which: Pick<OldestQuery, 'org_id' | 'createdBefore'>,
): Promise<void> => {
  const prepare = async (view: StoredView): Promise<StoredView[]> => {
    if (stop.aborted || !isOver(view)) return [];
    const { run } = view;
    if ((await lastOfRun(log, run)) > 0) return [];
    onRemoved({ runs: 0, bytes: await erase(run.org_id, run) });
    await eraseLogs(log, run);
    return [view];
  };
  let after: SortKey | undefined;
  for (let seen = 0; seen < IN_A_ROUND && !stop.aborted; seen += PAGE) {
    const oldest = { ...which, statuses: FINAL_STATUSES, limit: PAGE, ...(after && { after }) };
    const { items, end } = await views.listOldest(oldest);
    const prepared = (await actOnEach(await views.load(items), prepare, MAX_CONCURRENT)).flat();
    onRemoved({ runs: await views.remove(prepared), bytes: 0 });
    if (end === undefined) return;
    after = end;
  }
};

/** One time of looking for what is old enough. */
interface Round {
  readonly erase: EraseFiles;
  /** Runs, and bytes of output files. */
  readonly onRemoved: (removed: { readonly runs: number; readonly bytes: number }) => void;
  /** The round ends soon after it. */
  readonly stop: AbortSignal;
}

/** Views that are read at once. */
const PAGE = 200;
/** Runs of one organisation, so that those of others have their turn. The next round goes on. */
const IN_A_ROUND = 100_000;
const MAX_CONCURRENT = 8;
