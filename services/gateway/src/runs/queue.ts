import {
  CreateRunResponse,
  DeploymentRunRequest,
  IdempotencyKey,
} from '@runledger/contracts/http/runs/queue-run';
import { Type } from 'typebox';
import { queueRequestOf, acceptedRun, noDeployment, queueCallerOf } from './facts/deployment-queue.ts';
import { inputsProblems, warnOfInputs, type UnknownInput } from './facts/check-inputs.ts';
import { choiceIn, choiceProblems, isGiven } from './facts/named-deployment.ts';
import { runLinks } from './run-path.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { found, invalid, invalidRequest } from '../door/refusal.ts';
import { own } from '../door/compiled.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

const queueOperation = operation({
  id: 'queueRun',
  ofSpecification: true,
  method: 'POST',
  path: '/run/deployment/queue',
  tag: 'Runs',
  summary: 'Queue a run of a deployment',
  description:
    'The response comes once the run is stored: the run is never lost, and a GET right after the response finds it. The run keeps the version and the settings that the deployment has now.',
  scope: 'runs:write',
  audit: { unrecorded: 'the fact that it stores names the user' },
  request: {
    headers: Type.Object({ 'Idempotency-Key': Type.Optional(IdempotencyKey) }),
    body: DeploymentRunRequest,
  },
  response: {
    status: 200,
    description: 'The run is queued.',
    body: CreateRunResponse,
    links: runLinks('/run_id'),
  },
  refusals: [404, 409, 507],
});

export const queueRoute = (kit: Kit, { callbacks, deployments }: Runs): Route =>
  route(
    queueOperation,
    async ({ headers, body }, caller, ctx) => {
      const requested = {
        kind: 'queue',
        request: queueRequestOf(body, found(choiceIn(body), 'Deployment')),
      } as const;
      const by = {
        ...queueCallerOf(ctx, caller, headers),
        onUnknownInputs: (unknown: readonly UnknownInput[]) => warnOfInputs(ctx, unknown),
      };
      const queued = await deployments.queue(by, requested);
      if (queued.kind !== 'refused') return acceptedRun(kit, queued);
      if (typeof queued.why === 'string') throw noDeployment(queued.why);
      throw invalidRequest(...queued.why.problems);
    },
    ({ body }) => [
      ...choiceProblems(body, true),
      ...inputsProblems(own(body, 'inputs'), kit.config),
      ...callbacks.problems(own(body, 'webhook')),
      ...(isGiven(body, 'delay_s') && isGiven(body, 'start_at') ? [TWO_STARTS] : []),
    ],
  );

const TWO_STARTS = invalid(
  ['body', 'start_at'],
  'value_error',
  'The start is named by delay_s already. Send one of the two',
);
