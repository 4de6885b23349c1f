import type { Completion, RecordAction } from '@runledger/event-log/audit/record-action';
import { CancelRunsRequest, CancelRunsResponse } from '@runledger/contracts/http/runs/runs';
import { requestedAction } from '../../audit/requested-action.ts';
import type { CancelledMany, CancelMany } from './cancel-many.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { cursorAt } from '../../http/pagination.ts';
import { listRange, runCursorProblems, sortKeyAt } from '../list/list-range.ts';
import { requestOf } from '../../http/request-context.ts';
import { runFilterOf } from '../list/run-filter.ts';
import { own } from '../../validation/node.ts';

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

export interface CancelManyRoute {
  readonly cancelMany: CancelMany;
  readonly record: RecordAction;
}

export const cancelManyRoute = ({ cancelMany, record }: CancelManyRoute): Route =>
  route(
    cancelManyOperation,
    async ({ body: { filter, cursor, dry_run } }, caller, ctx) => {
      const { org_id, user_id } = caller;
      const { traceparent } = requestOf(ctx);
      const which = { org_id, ...runFilterOf(filter), ...listRange(filter, sortKeyAt(cursor)) };
      const dry = dry_run === true;
      const cancelPage = () => cancelMany(which, { user_id, traceparent }, dry);
      const filtered = requestedAction(ctx, caller, {
        action: 'runs.cancelled',
        details: { members: Object.keys(filter) },
      });
      const { createdBefore, end, ...counts } = await (dry
        ? cancelPage()
        : record(filtered, cancelPage, countsOf));
      const created_before = createdBefore?.toISOString() ?? null;
      return { ...counts, created_before, next_cursor: cursorAt(end) };
    },
    ({ body }) => runCursorProblems(own(body, 'cursor'), 'body'),
  );

const countsOf = ({ matched, cancelled, requested, failed }: CancelledMany): Completion => ({
  details: { matched, cancelled, requested, failed },
});
