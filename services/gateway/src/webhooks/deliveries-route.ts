import { RunDeliveries } from '@runledger/contracts/http/webhooks';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { RecordedDeliveries } from '@runledger/event-log/streams/delivery-attempts';
import { deliveriesResponse, NO_ATTEMPTS } from './core/delivery-response.ts';
import { showCallback } from './core/show-callback.ts';
import type { ReadCurrentRun } from '../runs/current/current-run.ts';
import { operation, route, type Route } from '../http/operation.ts';
import { notFoundRun, RunPath, runKeyOf } from '../runs/current/run-path.ts';

export interface DeliveriesRoute {
  readonly current: ReadCurrentRun;
  /** @throws {LogUnavailable} */
  readonly attempts: (key: RunKey) => Promise<RecordedDeliveries>;
}

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

export const deliveriesRoute = ({ current, attempts }: DeliveriesRoute): Route =>
  route(deliveriesOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const found = await current(key);
    if (found.kind !== 'found') throw notFoundRun(found);
    const { run, webhook } = found;
    const kept = run.request.webhook === null ? NO_ATTEMPTS : await attempts(key);
    return deliveriesResponse(run, webhook.state, kept, showCallback(caller.key.scopes));
  });
