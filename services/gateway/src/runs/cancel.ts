import { CancelRunResponse } from '@runledger/contracts/http/runs/run';
import { CancelRunsRequest, CancelRunsResponse } from '@runledger/contracts/http/runs/runs';
import { requestedAction } from '../records/audit/record-operation.ts';
import { operation, route, requestOf, type Route } from '../door/operation.ts';
import { changedConcurrently, notFoundRun, RunPath, runKeyOf, runLinks } from './run-path.ts';
import { carryOutBulk } from './bulk.ts';
import { checkBulkCursor } from './filter.ts';
import { OPEN_STATUSES } from '../views/run-view.ts';
import { actOnEach } from '../act-on-each.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

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

export const cancelRoute = ({ cancel, record }: Runs): Route =>
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
        throw changedConcurrently('run', 'its cancellation');
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
});

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

const NONE: CancelCounts = { matched: 0, cancelled: 0, requested: 0, failed: 0 };

/**
 * A request to cancel queued runs does not stop a run that began meanwhile. A repeated request counts no run as cancelled or requested
 * twice. @throws {LogUnavailable} when some of the runs may have been cancelled
 */
export const cancelManyRoute = (kit: Kit, runs: Runs): Route =>
  route(
    cancelManyOperation,
    ({ body }, caller, ctx) => {
      const by = { user_id: caller.user_id, traceparent: requestOf(ctx).traceparent };
      return carryOutBulk(kit, runs, body, caller, ctx, {
        action: 'runs.cancelled',
        concerned: OPEN_STATUSES,
        none: NONE,
        detailsOf: (counts) => ({ ...counts }),
        carryOut: async (items, statuses) => {
          const counts = { ...NONE };
          await actOnEach(items, async ({ run: { org_id, run_id } }) => {
            const cancellation = await runs.cancel({ org_id, run_id }, by, statuses);
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
          });
          return { counts };
        },
      });
    },
    checkBulkCursor,
  );
