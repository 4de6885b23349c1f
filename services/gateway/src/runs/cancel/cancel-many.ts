import { OPEN_STATUSES, type RunView } from '../../projection/core/run-view.ts';
import { actOnEach } from '../../concurrency/act-on-each.ts';
import type { BulkQuery, BulkResult, FindMatching } from '../bulk/matching-runs.ts';
import type { Canceller, CancelRun } from './cancel-run.ts';

export interface CancelCounts {
  /** Runs of this page that had not ended and matched the filter when they were decided on. */
  readonly matched: number;
  /** Matched runs that ended at once. */
  readonly cancelled: number;
  /** Matched runs that execute and that this request is the first to cancel. */
  readonly requested: number;
  /** Other runs of this page that could not be decided on now. */
  readonly failed: number;
}

export interface CancelManyOptions {
  readonly find: FindMatching;
  readonly cancel: CancelRun;
}

/** @throws {LogUnavailable} when some of the runs may have been cancelled @throws {ViewsUnavailable} */
export type CancelMany = (
  query: BulkQuery,
  by: Canceller,
  dryRun: boolean,
) => Promise<BulkResult<CancelCounts>>;

const NONE: CancelCounts = { matched: 0, cancelled: 0, requested: 0, failed: 0 };

/**
 * The newest first. The views say which runs match. The log is ahead of them and says whether each still matches: a
 * request to cancel queued runs does not stop a run that began meanwhile. A repeated request counts no run as cancelled
 * or requested twice.
 */
export const cancelMany =
  ({ find, cancel }: CancelManyOptions): CancelMany =>
  async (query, by, dryRun) => {
    const { items, ...page } = await find(query, OPEN_STATUSES);
    if (dryRun) return { counts: { ...NONE, matched: items.length }, ...page };
    const statuses = OPEN_STATUSES.filter((status) => query.statuses?.includes(status) ?? true);
    const counts = { ...NONE };
    const cancelOne = async ({ run: { org_id, run_id } }: RunView): Promise<void> => {
      const cancellation = await cancel({ org_id, run_id }, by, statuses);
      switch (cancellation.kind) {
        case 'answered':
          counts.matched += 1;
          if (!cancellation.isNew) return;
          if (cancellation.answer.outcome === 'cancelled') counts.cancelled += 1;
          else counts.requested += 1;
          return;
        case 'too_busy':
        case 'unreadable':
        case 'views_unavailable':
          counts.failed += 1;
          return;
        case 'status_excluded':
        case 'none':
        case 'deleted':
          return;
      }
    };
    await actOnEach(items, cancelOne);
    return { counts, ...page };
  };
