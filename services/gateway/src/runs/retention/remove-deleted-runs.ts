import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { actOnEach } from '../../concurrency/act-on-each.ts';
import type { StoredView } from '../../projection/core/run-view.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { IN_A_ROUND, MAX_CONCURRENT, PAGE } from './round.ts';

export interface RemoveDeletedRunsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'listErased' | 'remove'>;
  /** The round ends soon after it. */
  readonly stop: AbortSignal;
}

/**
 * Removes what is left of deleted runs: views with nothing in them, which stand in the way of stale ones. They stay while the log holds
 * anything of the run, as those of other old runs do. @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
export const removeDeletedRuns = async ({ log, views, stop }: RemoveDeletedRunsOptions): Promise<void> => {
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
