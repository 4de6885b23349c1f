import type { RecordAction } from '@runledger/event-log/audit/record-action';
import { CancelRunResponse } from '@runledger/contracts/http/runs/run';
import { requestedAction } from '../../audit/requested-action.ts';
import type { CancelRun } from './cancel-run.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { Refused } from '../../http/refusal.ts';
import { requestOf } from '../../http/request-context.ts';
import { notFoundRun, RunPath, runKeyOf, runLinks } from '../current/run-path.ts';

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

export interface CancelRoute {
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
