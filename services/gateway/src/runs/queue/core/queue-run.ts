import type { Deployment, Machine } from '@runledger/contracts/catalogue/records';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { JsonObject } from '@runledger/contracts/json';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { Envelope } from '../../current/core/envelope.ts';

/** A client's request, with its defaults filled in. */
export interface QueueRequest {
  readonly deployment_id: string;
  readonly inputs: JsonObject;
  readonly webhook: string | null;
  readonly webhook_intermediate_status: boolean;
  /** Null for the GPU of the deployment, or else of the machine. */
  readonly gpu: GpuModel | null;
}

/** What the catalogue has now; undefined for what is missing. */
export interface DeploymentFacts {
  readonly deployment: Deployment | undefined;
  readonly machine: Machine | undefined;
  readonly versionSha256: string | undefined;
}

/** The data of the first fact of a run. */
export type NewRun = RunEventOf<'RunQueued'>['data'];

export type QueueDecision<No> =
  | { readonly kind: 'queued'; readonly data: NewRun }
  | { readonly kind: 'refused'; readonly why: No };

/** For the operator. A client only learns that the deployment does not exist. */
export type MissingPart = 'deployment' | 'archived' | 'machine' | 'workflow version';

/** The run keeps the present settings and version, also when the catalogue changes later. */
export const queueRun = (
  request: QueueRequest,
  { deployment, machine, versionSha256 }: DeploymentFacts,
  by: { readonly user_id: string },
): QueueDecision<MissingPart> => {
  if (!deployment) return { kind: 'refused', why: 'deployment' };
  if (deployment.archived) return { kind: 'refused', why: 'archived' };
  if (!machine) return { kind: 'refused', why: 'machine' };
  if (versionSha256 === undefined) return { kind: 'refused', why: 'workflow version' };
  return {
    kind: 'queued',
    data: {
      user_id: by.user_id,
      origin: 'api',
      deployment_id: deployment.id,
      workflow_id: deployment.workflow_id,
      workflow_version_id: deployment.workflow_version_id,
      workflow_sha256: versionSha256,
      machine_id: machine.id,
      machine_name: machine.name,
      machine_type: machine.type,
      machine_version: machine.version,
      runner: machine.runner,
      gpu: request.gpu ?? deployment.gpu ?? machine.gpu,
      inputs: request.inputs,
      webhook: request.webhook,
      webhook_intermediate_status: request.webhook_intermediate_status,
      start_deadline_s: deployment.start_deadline_s,
      run_timeout_s: deployment.run_timeout_s,
      max_attempts: deployment.retry.attempts,
      rerun_of: null,
    },
  };
};

/** `idempotency` is undefined for a run with a random id. */
export const runQueued = (
  data: NewRun,
  idempotency: NewRun['idempotency'],
  envelope: Envelope,
): RunEventOf<'RunQueued'> => ({
  ...envelope,
  type: 'RunQueued',
  version: 1,
  attempt: 0,
  executor_id: null,
  causation_id: null,
  data: idempotency ? { ...data, idempotency } : data,
});
