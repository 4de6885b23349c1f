import { CreateRunResponse, IdempotencyKey } from '@runledger/contracts/http/runs/queue-run';
import { RerunRequest } from '@runledger/contracts/http/runs/runs';
import { Type } from 'typebox';
import type { RerunRun } from './rerun-run.ts';
import { acceptedRun, noDeployment, queueCallerOf } from '../queue/queue-response.ts';
import { inputsProblems, type InputLimits } from '../queue/input-limits.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { invalidRequest, Refused } from '../../http/refusal.ts';
import { notFoundRun, RunPath, runKeyOf, runLinks } from '../current/run-path.ts';
import { own } from '../../validation/node.ts';

export interface RerunRoute {
  readonly limits: InputLimits;
  readonly rerun: RerunRun;
  readonly onQueued: () => void;
}

const rerunOperation = operation({
  id: 'rerunRun',
  method: 'POST',
  path: '/run/{run_id}/rerun',
  tag: 'Runs',
  summary: 'Run it again',
  description:
    'Queues another run with the inputs of this run, or with others. It has the version, the GPU, the webhook and all settings of this run, also when the deployment has changed. `rerun_of` names this run.',
  scope: 'runs:write',
  audit: { unrecorded: 'the fact that it stores names the user' },
  request: {
    path: RunPath,
    headers: Type.Object({ 'Idempotency-Key': Type.Optional(IdempotencyKey) }),
    body: RerunRequest,
  },
  bodyOptional: true,
  response: {
    status: 200,
    description: 'The new run is queued.',
    body: CreateRunResponse,
    links: runLinks('/run_id'),
  },
  refusals: [404, 409, 507],
});

export const rerunRoute = ({ limits, rerun, onQueued }: RerunRoute): Route =>
  route(
    rerunOperation,
    async ({ path, headers, body }, caller, ctx) => {
      // The body may be missing, which its type does not say.
      const inputs = (body as typeof body | undefined)?.inputs ?? undefined;
      const queued = await rerun(queueCallerOf(ctx, caller, headers), runKeyOf(path, caller), inputs);
      if (queued.kind !== 'refused') return acceptedRun(queued, onQueued);
      const { why } = queued;
      if (why === 'no_workflow') {
        throw new Refused({
          code: 'workflow_gone',
          why: 'The workflow version of this run was deleted, or its workflow is lost, so nothing was queued: queue the deployment instead',
        });
      }
      if (typeof why === 'string') throw noDeployment(why);
      if (why.kind === 'invalid') throw invalidRequest(...why.problems);
      throw notFoundRun(why);
    },
    ({ body }) => inputsProblems(own(body, 'inputs'), limits),
  );
