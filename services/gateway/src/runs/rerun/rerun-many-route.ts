import { IdempotencyKey } from '@runledger/contracts/http/runs/queue-run';
import { RerunRunsResponse } from '@runledger/contracts/http/runs/rerun-runs';
import { RerunRunsRequest } from '@runledger/contracts/http/runs/runs';
import { Type } from 'typebox';
import { bulkProblems, carryOutBulk, type BulkOptions } from '../bulk/bulk-request.ts';
import { queueCallerOf } from '../queue/queue-response.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { invalid, invalidRequest } from '../../http/refusal.ts';
import { MISSING } from '../../validation/pydantic-words.ts';
import type { RerunCounts, RerunMany } from './rerun-many.ts';

const rerunManyOperation = operation({
  id: 'rerunRuns',
  method: 'POST',
  path: '/runs/rerun',
  tag: 'Runs',
  summary: 'Run many runs again',
  description:
    'Queues up to 1,000 runs again that have ended and match the filter, newest first, each as a single rerun without other inputs. `next_cursor` continues with the older ones. With one `Idempotency-Key` each run is queued again once at most, whatever becomes of the responses: send the same key with every page and every repetition, and a new one to queue the same runs once more. What the key has queued does not match itself. Reruns of other requests match like all runs: `origin` and the times of creation tell them apart. Deleted runs do not match. When the queue is full, the page ends early, and `next_cursor` continues later. To queue only runs that existed at a dry run, use the `created_before` of its first page that has one in the filter.',
  scope: 'runs:write',
  audit: { recordedWithin: 'runs.rerun' },
  request: {
    headers: Type.Object({
      'Idempotency-Key': Type.Optional({
        ...IdempotencyKey,
        description:
          '1 to 255 printable characters. Required, except for a dry run. Of one key of an organisation each run is queued again once at most, also on other pages and with other filters, while its rerun is kept.',
      }),
    }),
    body: RerunRunsRequest,
  },
  response: { status: 200, description: 'How many runs were queued again.', body: RerunRunsResponse },
  refusals: [],
});

export interface RerunManyRoute extends Pick<BulkOptions<RerunCounts>, 'searchOf' | 'record'> {
  readonly rerunMany: RerunMany;
}

export const rerunManyRoute = ({ rerunMany, searchOf, record }: RerunManyRoute): Route => {
  const bulk: BulkOptions<RerunCounts> = { searchOf, record, action: 'runs.rerun', detailsOf };
  return route(
    rerunManyOperation,
    async ({ headers, body }, caller, ctx) => {
      const by = queueCallerOf(ctx, caller, headers);
      if (by.idempotencyKey === undefined && body.dry_run !== true) throw invalidRequest(NO_KEY);
      return carryOutBulk(body, caller, ctx, bulk, (query, dryRun) => rerunMany(query, by, dryRun));
    },
    bulkProblems,
  );
};

const KEY_REQUIRED = `${MISSING.msg}: with it, a repeated request queues no run twice. Only a dry run needs none`;
const NO_KEY = invalid(['header', 'Idempotency-Key'], MISSING.type, KEY_REQUIRED);

const detailsOf = ({ matched, queued, already_queued, refused, stopped }: RerunCounts) => ({
  matched,
  queued,
  already_queued,
  refused: refused.reduce((sum, { runs }) => sum + runs, 0),
  stopped,
});
