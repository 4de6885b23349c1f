import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { JsonObject } from '@runledger/contracts/json';
import type { Run } from '@runledger/contracts/fold/run';
import type { MissingPart, QueueDecision } from '../../queue/core/queue-run.ts';

export interface RerunWish {
  /** Instead of those of the origin. */
  readonly inputs: JsonObject | undefined;
  readonly user_id: string;
}

/** A run repeats its origin: with the settings and the version that it was queued with, not those of now. */
export const rerun = (
  { run_id, request }: Run,
  deployment: Deployment | undefined,
  { inputs, user_id }: RerunWish,
): QueueDecision<MissingPart> => {
  if (!deployment) return { kind: 'refused', why: 'deployment' };
  if (deployment.archived) return { kind: 'refused', why: 'archived' };
  // It says how its origin was asked for, and by which key the origin is found.
  const { idempotency: _idempotency, ...kept } = request;
  return {
    kind: 'queued',
    data: { ...kept, user_id, origin: 'replay', inputs: inputs ?? request.inputs, rerun_of: run_id },
  };
};
