import type { DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import { DeliveryPage, DeliveryQuery } from '@runledger/contracts/http/webhooks';
import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { listedDelivery } from './core/delivery-response.ts';
import { showCallback } from './core/show-callback.ts';
import { WEBHOOK_STATUSES } from '../projection/core/webhook-status.ts';
import type { RunViews } from '../projection/run-views.ts';
import { operation, route, type Route } from '../http/operation.ts';
import { cursorAt, DEFAULT_LIMIT } from '../http/pagination.ts';
import { listRange, runCursorProblems, sortKeyAt } from '../runs/list/list-range.ts';
import { own } from '../validation/node.ts';

export interface ListDeliveriesRoute {
  readonly views: RunViews;
  /** The states of the deliveries of several runs. @throws {LogUnavailable} */
  readonly states: (keys: readonly RunKey[]) => Promise<ReadonlyMap<RunId, DeliveryState>>;
}

const listDeliveriesOperation = operation({
  id: 'listDeliveries',
  method: 'GET',
  path: '/webhooks/deliveries',
  tag: 'Webhooks',
  summary: 'List runs with a webhook',
  description: 'Newest first, with the outcome of their notifications.',
  scope: 'runs:read',
  request: { query: DeliveryQuery },
  response: { status: 200, description: 'A page of runs.', body: DeliveryPage },
  refusals: [],
});

export const listDeliveriesRoute = ({ views, states }: ListDeliveriesRoute): Route =>
  route(
    listDeliveriesOperation,
    async ({ query }, caller) => {
      const { items, end } = await views.listWebhooks({
        org_id: caller.org_id,
        statuses: query.status ?? WEBHOOK_STATUSES,
        ...(query.host === undefined ? {} : { host: query.host.toLowerCase() }),
        ...listRange(query, sortKeyAt(query.cursor)),
        limit: query.limit ?? DEFAULT_LIMIT,
      });
      const stored = await states(items);
      const show = showCallback(caller.key.scopes);
      return {
        deliveries: items.map((row) => listedDelivery(row, stored.get(row.run_id), show)),
        next_cursor: cursorAt(end),
      };
    },
    ({ query }) => runCursorProblems(own(query, 'cursor'), 'query'),
  );
