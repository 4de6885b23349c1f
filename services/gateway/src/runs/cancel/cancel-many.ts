import type { SortKey } from '../../projection/core/sort-key.ts';
import { OPEN_STATUSES, type RunView } from '../../projection/core/run-view.ts';
import { ViewsUnavailable, type RunViews } from '../../projection/run-views.ts';
import type { RunQuery } from '../../projection/core/list-query.ts';
import type { Canceller, CancelRun } from './cancel-run.ts';
import type { FreshViews } from '../../projection/fresh-views.ts';
import pLimit from 'p-limit';

export interface CancelledMany {
  /** Runs of this page that had not ended and matched the filter when they were decided on. */
  readonly matched: number;
  /** Matched runs that ended at once. */
  readonly cancelled: number;
  /** Matched runs that execute and that this request is the first to cancel. */
  readonly requested: number;
  /** Other runs of this page that could not be decided on now. */
  readonly failed: number;
  /** A millisecond after the creation of the newest run of this page; undefined when the page is empty. */
  readonly createdBefore: Date | undefined;
  /** Where the next page begins; undefined when nothing follows. */
  readonly end: SortKey | undefined;
}

export interface CancelManyOptions {
  readonly views: RunViews;
  readonly fresh: Pick<FreshViews, 'becomeFresh'>;
  readonly cancel: CancelRun;
}

/** @throws {LogUnavailable} when some of the runs may have been cancelled @throws {ViewsUnavailable} */
export type CancelMany = (
  which: Omit<RunQuery, 'limit'>,
  by: Canceller,
  dryRun: boolean,
) => Promise<CancelledMany>;

const NONE = { matched: 0, cancelled: 0, requested: 0, failed: 0 };
const PAGE = 1_000;
const MAX_CONCURRENT = 16;

/**
 * The newest first. The views say which runs match. The log is ahead of them and says whether each still matches: a
 * request to cancel queued runs does not stop a run that began meanwhile. A repeated request counts no run as cancelled
 * or requested twice.
 */
export const cancelMany =
  ({ views, fresh, cancel }: CancelManyOptions): CancelMany =>
  async (which, by, dryRun) => {
    const statuses = OPEN_STATUSES.filter((status) => which.statuses?.includes(status) ?? true);
    if (statuses.length === 0) return { ...NONE, createdBefore: undefined, end: undefined };
    if (!(await fresh.becomeFresh()))
      throw new ViewsUnavailable(
        'the views lack facts of the log, so runs may be missing among those that match',
      );
    const { items, end } = await views.listRuns({ ...which, statuses, limit: PAGE });
    const page = { createdBefore: behindNewest(items), end };
    if (dryRun) return { ...NONE, matched: items.length, ...page };
    const count = { ...NONE };
    const limit = pLimit(MAX_CONCURRENT);
    const cancelOne = async ({ run: { org_id, run_id } }: RunView): Promise<void> => {
      const cancellation = await cancel({ org_id, run_id }, by, statuses);
      switch (cancellation.kind) {
        case 'answered':
          count.matched += 1;
          if (!cancellation.isNew) return;
          if (cancellation.answer.outcome === 'cancelled') count.cancelled += 1;
          else count.requested += 1;
          return;
        case 'too_busy':
        case 'unreadable':
        case 'views_unavailable':
          count.failed += 1;
          return;
        case 'status_excluded':
        case 'none':
        case 'deleted':
          return;
      }
    };
    try {
      await limit.map(items, cancelOne);
    } finally {
      // After a failure, no more cancellations begin.
      limit.clearQueue();
    }
    return { ...count, ...page };
  };

const behindNewest = ([newest]: readonly RunView[]): Date | undefined =>
  newest && new Date(Date.parse(newest.run.created_at) + 1);
