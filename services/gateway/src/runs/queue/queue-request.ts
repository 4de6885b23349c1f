import type { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import type { GpuModel } from '@runledger/contracts/gpu';
import { queueOptions } from './core/queue-options.ts';
import type { QueueRequest } from './core/queue-run.ts';

/** Of a client, or stored: a deployment may have any GPU model. */
type RequestedBody = Omit<DeploymentRunRequest, 'gpu'> & { readonly gpu?: GpuModel | null };

/** What is requested, with its defaults filled in. */
export const queueRequestOf = (body: RequestedBody): QueueRequest => ({
  deployment_id: body.deployment_id.toLowerCase(),
  inputs: body.inputs ?? {},
  webhook: body.webhook ?? null,
  webhook_intermediate_status: body.webhook_intermediate_status ?? false,
  gpu: body.gpu ?? null,
  ...(body.strict_inputs === true && { strict_inputs: true }),
  ...queueOptions(body),
});
