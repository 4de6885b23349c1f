import { allRead } from '@runledger/contracts/all-read';
import { RunDeliveries, DeliveryPage, DeliveryQuery } from '@runledger/contracts/http/webhooks';
import { readDeliveries, readDeliveryStates } from '@runledger/event-log/streams/delivery-attempts';
import { deliveriesResponse, NO_ATTEMPTS, listedDelivery } from './redeliver.decide.ts';
import { showCallback } from './facts/shown-webhooks.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { notFoundRun, RunPath, runKeyOf } from './run-path.ts';
import { WEBHOOK_STATUSES } from '../views/stored-run.decide.ts';
import { cursorAt, DEFAULT_LIMIT } from '../door/pagination.ts';
import { listRange, runCursorProblems, sortKeyAt } from './filter.ts';
import { own } from '../door/compiled.ts';

const deliveriesOperation = operation({
  id: 'getDeliveries',
  method: 'GET',
  path: '/run/{run_id}/deliveries',
  tag: 'Webhooks',
  summary: "Read the outcome of a run's notifications",
  description: 'Every delivery attempt of the run, and the state of its delivery.',
  scope: 'runs:read',
  request: { path: RunPath },
  response: { status: 200, description: 'The delivery attempts.', body: RunDeliveries },
  refusals: [404],
});

export const deliveriesRoute = ({ log }: Kit, { current }: Runs): Route =>
  route(deliveriesOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const found = await current(key);
    if (found.kind !== 'found') throw notFoundRun(found);
    const { run, webhook } = found;
    const kept = run.request.webhook === null ? NO_ATTEMPTS : await readDeliveries(log, key);
    return deliveriesResponse(run, webhook.state, kept, showCallback(caller.key.scopes));
  });

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

export const listDeliveriesRoute = ({ log, views }: Kit): Route =>
  route(
    listDeliveriesOperation,
    async ({ query }, caller) => {
      const { status, host, created_after, created_before, limit, cursor, ...unread } = query;
      allRead(unread);
      const { items, end } = await views.listWebhooks({
        org_id: caller.org_id,
        statuses: status ?? WEBHOOK_STATUSES,
        ...(host === undefined ? {} : { host: host.toLowerCase() }),
        ...listRange({ created_after, created_before }, sortKeyAt(cursor)),
        limit: limit ?? DEFAULT_LIMIT,
      });
      const stored = await readDeliveryStates(log, items);
      const show = showCallback(caller.key.scopes);
      return {
        deliveries: items.map((row) => listedDelivery(row, stored.get(row.run_id), show)),
        next_cursor: cursorAt(end),
      };
    },
    ({ query }) => runCursorProblems(own(query, 'cursor'), 'query'),
  );
