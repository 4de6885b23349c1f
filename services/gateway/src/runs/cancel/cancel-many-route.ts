import { CancelRunsRequest, CancelRunsResponse } from '@runledger/contracts/http/runs/runs';
import { bulkProblems, carryOutBulk, type BulkOptions } from '../bulk/bulk-request.ts';
import type { CancelCounts, CancelMany } from './cancel-many.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { requestOf } from '../../http/request-context.ts';

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

export interface CancelManyRoute extends Pick<BulkOptions<CancelCounts>, 'searchOf' | 'record'> {
  readonly cancelMany: CancelMany;
}

export const cancelManyRoute = ({ cancelMany, searchOf, record }: CancelManyRoute): Route => {
  const bulk: BulkOptions<CancelCounts> = {
    searchOf,
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
