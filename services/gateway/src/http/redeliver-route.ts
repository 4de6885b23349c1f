import { MAX_ROUNDS } from '@runledger/contracts/webhook-event';
import type { Middleware } from 'koa';
import type { RedeliverRefusal } from '../domain/redeliver.ts';
import type { RedeliverRun } from '../runs/redeliver-run.ts';
import type { Callers } from './callers.ts';
import { notFoundRun } from './not-found-run.ts';
import { Refused } from './problem.ts';
import { requestOf } from './request-context.ts';
import { runKeyOf } from './run-id.ts';

export interface RedeliverRoute {
  readonly callers: Callers;
  readonly redeliver: RedeliverRun;
}

/** `POST /run/{run_id}/redeliver` */
export const redeliverRoute =
  ({ callers, redeliver }: RedeliverRoute): Middleware =>
  async (ctx) => {
    const { org_id, user_id } = await callers(ctx, 'runs:write');
    const key = runKeyOf(ctx, org_id);
    const { traceparent } = requestOf(ctx);
    const redelivery = await redeliver(key, { user_id, traceparent });
    switch (redelivery.kind) {
      case 'requested':
        ctx.body = { run_id: key.run_id, webhook_status: 'running', round: redelivery.round };
        return;
      case 'refused':
        throw new Refused({ kind: 'conflict', why: WHY[redelivery.because] });
      // Every status is asked for.
      case 'not_asked_for':
      case 'too_busy':
        throw new Refused({
          kind: 'unavailable',
          why: 'The delivery changed again and again while the redelivery was stored. Try again',
        });
      case 'none':
      case 'views_away':
      case 'unreadable':
        throw notFoundRun(redelivery);
    }
  };

const WHY: Readonly<Record<RedeliverRefusal | 'expired', string>> = {
  no_webhook: 'The run has no webhook: name one in the field webhook when a run is queued',
  not_ended:
    'The run has not ended: its final notification follows by itself when it does, and can be sent again after that',
  rounds_used_up: `The notification was sent anew ${MAX_ROUNDS - 1} times, which is all that a run may have. Read the run instead`,
  expired:
    "The run's events are no longer in the log, and a notification is made of them. Read the run instead, which is kept for longer",
};
