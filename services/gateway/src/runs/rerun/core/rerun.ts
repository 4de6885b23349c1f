import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { JsonObject } from '@runledger/contracts/json';
import type { Run } from '@runledger/contracts/fold/run';
import type { MissingPart, QueueDecision } from '../../queue/core/queue-run.ts';

export interface RerunRequest {
  /** Instead of the inputs of the origin. */
  readonly inputs: JsonObject | undefined;
  readonly user_id: string;
}

/**
 * A rerun repeats its origin, with the settings and the version that the origin was queued with. The inputs of an origin
 * that outlived its log may be gone.
 */
export const rerun = (
  { run_id, request }: Run,
  deployment: Deployment | undefined,
  { inputs, user_id }: RerunRequest,
): QueueDecision<MissingPart | 'inputs'> => {
  if (!deployment) return { kind: 'refused', why: 'deployment' };
  if (deployment.archived) return { kind: 'refused', why: 'archived' };
  const repeated = inputs ?? request.inputs;
  if (repeated === null) return { kind: 'refused', why: 'inputs' };
  // The idempotency key belongs to the request that queued the origin.
  const { idempotency: _idempotency, ...kept } = request;
  return {
    kind: 'queued',
    data: { ...kept, user_id, origin: 'replay', inputs: repeated, rerun_of: run_id },
  };
};
