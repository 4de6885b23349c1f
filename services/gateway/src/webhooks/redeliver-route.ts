import { RunRedelivery } from '@runledger/contracts/http/webhooks';
import { MAX_ROUNDS } from '@runledger/contracts/events/webhook-event';
import type { RedeliverRefusal } from './core/redeliver.ts';
import type { RedeliverRun } from './redeliver-run.ts';
import { operation, route, type Route } from '../http/operation.ts';
import { Refused, type Conflict } from '../http/refusal.ts';
import { requestOf } from '../http/request-context.ts';
import { notFoundRun, RunPath, runKeyOf } from '../runs/current/run-path.ts';

const redeliverOperation = operation({
  id: 'redeliverRun',
  method: 'POST',
  path: '/run/{run_id}/redeliver',
  tag: 'Webhooks',
  summary: "Send a run's final notification again",
  scope: 'runs:write',
  audit: { unrecorded: 'the fact that it stores names the user' },
  request: { path: RunPath },
  response: { status: 200, description: 'The redelivery is requested.', body: RunRedelivery },
  refusals: [404, 409],
});

export const redeliverRoute = ({ redeliver }: { readonly redeliver: RedeliverRun }): Route =>
  route(redeliverOperation, async ({ path }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const { traceparent } = requestOf(ctx);
    const redelivery = await redeliver(key, { user_id: caller.user_id, traceparent });
    switch (redelivery.kind) {
      case 'requested':
        return { run_id: key.run_id, webhook_status: 'running' as const, round: redelivery.round };
      case 'refused':
        throw new Refused(WHY[redelivery.because]);
      // The request names no statuses.
      case 'status_excluded':
      case 'too_busy':
        throw new Refused({
          code: 'changed_concurrently',
          why: 'The delivery changed again and again while the redelivery was stored. Try again',
        });
      case 'none':
      case 'deleted':
      case 'views_unavailable':
      case 'unreadable':
        throw notFoundRun(redelivery);
    }
  });

const WHY: Readonly<Record<RedeliverRefusal | 'expired', Conflict>> = {
  no_webhook: {
    code: 'run_has_no_webhook',
    why: 'The run has no webhook: set the field webhook when a run is queued',
  },
  not_ended: {
    code: 'run_not_ended',
    why: 'The run has not ended: its final notification is sent at the end, and can be sent again after that',
  },
  rounds_used_up: {
    code: 'redeliveries_used_up',
    why: `The notification was redelivered ${MAX_ROUNDS - 1} times, which is the limit. Read the run instead`,
  },
  expired: {
    code: 'run_events_expired',
    why: "The run's events have expired from the log, and a notification is made from them. Read the run instead, which is kept longer",
  },
};
