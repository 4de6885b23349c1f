import type { EventLog } from '@runledger/event-log/connect/event-log';
import { eraseLogs } from '@runledger/event-log/streams/logs';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { actOnEach } from '../../concurrency/act-on-each.ts';
import type { OldestQuery } from '../../projection/core/list-query.ts';
import { FINAL_STATUSES, type StoredView } from '../../projection/core/run-view.ts';
import type { SortKey } from '../../projection/core/sort-key.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { isOver } from './core/old-runs.ts';
import { IN_A_ROUND, MAX_CONCURRENT, PAGE, type Round } from './round.ts';

export interface RemoveOldRunsOptions extends Round {
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
