import { newUuid, runId } from '@runledger/contracts/ids';
import type { Middleware } from 'koa';
import type { AcceptRun } from '../runs/accept-run.ts';
import { refuse } from './body-object.ts';
import type { Callers } from './callers.ts';
import type { JsonBody } from './json-body.ts';
import { Refused } from './problem.ts';
import { queueRequest, type QueueLimits } from './queue-request.ts';
import { requestOf } from './request-context.ts';
import type { CallbackRules } from './webhook-url.ts';

export interface QueueRoute {
  readonly callers: Callers;
  readonly body: JsonBody;
  readonly limits: QueueLimits;
  readonly callbacks: CallbackRules;
  readonly accept: AcceptRun;
  readonly onQueued: () => void;
}

/** `POST /run/deployment/queue` */
export const queueRoute =
  ({ callers, body, limits, callbacks, accept, onQueued }: QueueRoute): Middleware =>
  async (ctx) => {
    const caller = await callers(ctx, 'runs:write');
    const request = queueRequest(await body(ctx), limits, callbacks);
    const forbidden = request.webhook === null ? undefined : await callbacks.destination(request.webhook);
    if (forbidden) refuse([forbidden]);
    const { request_id, traceparent } = requestOf(ctx);
    const run_id = runId(newUuid());
    const acceptance = await accept({
      run_id,
      ...caller,
      request,
      correlation_id: request_id,
      traceparent,
    });
    switch (acceptance.kind) {
      case 'accepted':
        onQueued();
        ctx.body = { run_id: acceptance.run_id };
        return;
      case 'no_deployment':
        throw new Refused({ kind: 'not_found', what: 'Deployment' });
      case 'log_nearly_full':
        throw new Refused({
          kind: 'unavailable',
          why: 'The log is nearly full and takes no new runs; those that were accepted go on. Nothing was queued',
        });
    }
  };
