import { CreateRunResponse, DeploymentRunRequest, IdempotencyKey } from '@runledger/contracts/http/queue-run';
import { newUuid, runId } from '@runledger/contracts/ids';
import { Type } from 'typebox';
import type { AcceptRun } from '../runs/accept-run.ts';
import { inputsProblems, type InputLimits } from './input-limits.ts';
import { operation, route, type Route } from './operation.ts';
import { Refused } from './problem.ts';
import { own } from './validation/node.ts';
import { requestOf } from './request-context.ts';
import type { CallbackRules } from './webhook-url.ts';

export interface QueueRoute {
  readonly limits: InputLimits;
  readonly callbacks: CallbackRules;
  readonly accept: AcceptRun;
  readonly onQueued: () => void;
}

const queueOperation = operation({
  id: 'queueRun',
  method: 'POST',
  at: '/run/deployment/queue',
  tag: 'Runs',
  summary: 'Queue a run of a deployment',
  description:
    'Answered once the run is stored: it is never lost, and a GET right after it finds it. It keeps the version and the settings that the deployment has now.',
  scope: 'runs:write',
  takes: {
    headers: Type.Object({ 'Idempotency-Key': Type.Optional(IdempotencyKey) }),
    body: DeploymentRunRequest,
  },
  gives: { status: 200, description: 'The run is queued.', body: CreateRunResponse },
  refuses: [404, 409, 413],
});

export const queueRoute = ({ limits, callbacks, accept, onQueued }: QueueRoute): Route =>
  route(
    queueOperation,
    async ({ body }, { org_id, user_id }, ctx) => {
      const request = {
        deployment_id: body.deployment_id.toLowerCase(),
        inputs: body.inputs ?? {},
        webhook: body.webhook ?? null,
        webhook_intermediate_status: body.webhook_intermediate_status ?? false,
        gpu: body.gpu ?? null,
      };
      const forbidden = request.webhook === null ? undefined : await callbacks.destination(request.webhook);
      if (forbidden) throw new Refused({ kind: 'invalid', problems: [forbidden] });
      const { request_id, traceparent } = requestOf(ctx);
      const acceptance = await accept({
        run_id: runId(newUuid()),
        org_id,
        user_id,
        request,
        correlation_id: request_id,
        traceparent,
      });
      switch (acceptance.kind) {
        case 'accepted':
          onQueued();
          return { run_id: acceptance.run_id };
        case 'no_deployment':
          throw new Refused({ kind: 'not_found', what: 'Deployment' });
        case 'log_nearly_full':
          throw new Refused({
            kind: 'unavailable',
            why: 'The log is nearly full and takes no new runs; those that were accepted go on. Nothing was queued',
          });
      }
    },
    ({ body }) => {
      const webhook = own(body, 'webhook');
      const forbidden = typeof webhook === 'string' ? callbacks.problem(webhook) : undefined;
      return [...inputsProblems(own(body, 'inputs'), limits), ...(forbidden ? [forbidden] : [])];
    },
  );
