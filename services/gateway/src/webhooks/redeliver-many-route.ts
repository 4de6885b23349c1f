import { RedeliverRequest, RedeliverResponse } from '@runledger/contracts/http/webhooks';
import { WebhookStatus } from '@runledger/contracts/http/runs/run-status';
import type { RedeliverMany } from './redeliver-many.ts';
import { operation, route, type Route } from '../http/operation.ts';
import { cursorAt } from '../http/pagination.ts';
import { listRange, runCursorProblems, sortKeyAt } from '../runs/list/list-range.ts';
import { own } from '../validation/node.ts';
import { requestOf } from '../http/request-context.ts';
import { wordsIn } from '../http/words-in.ts';

const redeliverManyOperation = operation({
  id: 'redeliverMany',
  method: 'POST',
  path: '/webhooks/redeliver',
  tag: 'Webhooks',
  summary: 'Send final notifications again',
  description:
    'Redelivers the final notifications of up to 1,000 runs that match the filter, newest first. `next_cursor` continues with the older ones.',
  scope: 'runs:write',
  audit: { unrecorded: 'the fact that it stores names the user' },
  request: { body: RedeliverRequest },
  response: {
    status: 200,
    description: 'How many runs matched, and how many redeliveries were requested.',
    body: RedeliverResponse,
  },
  refusals: [],
});

export const redeliverManyRoute = ({ redeliverMany }: { readonly redeliverMany: RedeliverMany }): Route =>
  route(
    redeliverManyOperation,
    async ({ body: { filter, cursor, dry_run } }, { org_id, user_id }, ctx) => {
      const { traceparent } = requestOf(ctx);
      const which = {
        org_id,
        statuses: wordsIn(WebhookStatus, filter.status) ?? ['failed' as const],
        ...(typeof filter.host === 'string' ? { host: filter.host.toLowerCase() } : {}),
        ...listRange(filter, sortKeyAt(cursor)),
      };
      const { matched, requested, end } = await redeliverMany(
        which,
        { user_id, traceparent },
        dry_run === true,
      );
      return { matched, requested, next_cursor: cursorAt(end) };
    },
    ({ body }) => runCursorProblems(own(body, 'cursor'), 'body'),
  );
