import type { RecordAction } from '@runledger/event-log/audit/record-action';
import { CancelRunResponse } from '@runledger/contracts/http/runs/run';
import { CancelRunsRequest, CancelRunsResponse } from '@runledger/contracts/http/runs/runs';
import { requestedAction } from '../records/audit/record-operation.ts';
import type { CancelRun, Canceller } from './facts/cancel-run.ts';
import { operation, route, requestOf, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import { notFoundRun, RunPath, runKeyOf, runLinks } from './run-path.ts';
import {
  bulkProblems,
  carryOutBulk,
  type BulkOptions,
  type BulkQuery,
  type BulkResult,
  type FindMatching,
} from './matching-runs.ts';
import { OPEN_STATUSES, type RunView } from '../views/run-view.ts';
import { actOnEach } from '../act-on-each.ts';

const cancelOperation = operation({
  id: 'cancelRun',
  ofSpecification: true,
  method: 'POST',
  path: '/run/{run_id}/cancel',
  tag: 'Runs',
  summary: 'Cancel a run',
  description:
    'A queued run is cancelled at once. A run that executes is asked to stop, and is cancelled within the grace period, by force if necessary. Repeating the request, or sending it after the end, changes nothing.',
  scope: 'runs:write',
  audit: { recordedWithin: 'run.cancelled' },
  request: { path: RunPath },
  response: { status: 200, description: 'The outcome.', body: CancelRunResponse, links: runLinks('/run_id') },
  refusals: [404],
});

interface CancelRoute {
  readonly cancel: CancelRun;
  readonly record: RecordAction;
}

export const cancelRoute = ({ cancel, record }: CancelRoute): Route =>
  route(cancelOperation, async ({ path }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const { traceparent } = requestOf(ctx);
    const cancellation = await cancel(key, {
      user_id: caller.user_id,
      traceparent,
      recorded: (run_user_id, work) =>
        record(
          requestedAction(ctx, caller, {
            action: 'run.cancelled',
            target: key.run_id,
            details: { run_user_id },
          }),
          work,
        ),
    });
    switch (cancellation.kind) {
      case 'answered':
        return { run_id: key.run_id, ...cancellation.answer };
      // The request names no statuses.
      case 'status_excluded':
      case 'too_busy':
        throw new Refused({
          code: 'changed_concurrently',
          why: 'The run changed again and again while its cancellation was stored. Try again',
        });
      case 'none':
      case 'deleted':
      case 'views_unavailable':
      case 'unreadable':
        throw notFoundRun(cancellation);
    }
  });

const cancelManyOperation = operation({
  id: 'cancelRuns',
  method: 'POST',
  path: '/runs/cancel',
  tag: 'Runs',
  summary: 'Cancel many runs',
  description:
    'Cancels up to 1,000 runs that have not ended and match the filter, newest first. `next_cursor` continues with the older ones. Each is cancelled like a single run. Repeating the request is harmless. To cancel only the runs that a dry run counted, use the `created_before` of its first page that has one in the filter.',
  scope: 'runs:write',
  audit: { recordedWithin: 'runs.cancelled' },
  request: { body: CancelRunsRequest },
  response: { status: 200, description: 'How many runs were cancelled.', body: CancelRunsResponse },
  refusals: [],
});

export interface CancelManyRoute extends Pick<BulkOptions<CancelCounts>, 'selectRuns' | 'record'> {
  readonly cancelMany: CancelMany;
}

export const cancelManyRoute = ({ cancelMany, selectRuns, record }: CancelManyRoute): Route => {
  const bulk: BulkOptions<CancelCounts> = {
    selectRuns,
    record,
    action: 'runs.cancelled',
    detailsOf: (counts) => ({ ...counts }),
  };
  return route(
    cancelManyOperation,
    ({ body }, caller, ctx) => {
      const by = { user_id: caller.user_id, traceparent: requestOf(ctx).traceparent };
      return carryOutBulk(body, caller, ctx, bulk, (query, dryRun) => cancelMany(query, by, dryRun));
    },
    bulkProblems,
  );
};

interface CancelCounts {
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
type CancelMany = (query: BulkQuery, by: Canceller, dryRun: boolean) => Promise<BulkResult<CancelCounts>>;

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
