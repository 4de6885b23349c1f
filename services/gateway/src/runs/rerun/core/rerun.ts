import type { Deployment } from '@runledger/contracts/catalogue/records';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { JsonObject } from '@runledger/contracts/json';
import type { Run } from '@runledger/contracts/fold/run';
import type { MissingPart, QueueDecision } from '../../queue/core/queue-run.ts';

export interface RerunRequest {
  /** Instead of the inputs of the origin. */
  readonly inputs: JsonObject | undefined;
  readonly user_id: string;
}

/** A rerun repeats its origin, with the settings and the version that the origin was queued with. */
export const rerun = (
  { run_id, request }: Run,
  deployment: Deployment | undefined,
  { inputs: others, user_id }: RerunRequest,
): QueueDecision<MissingPart> => {
  if (!deployment) return { kind: 'refused', why: 'deployment' };
  if (deployment.archived) return { kind: 'refused', why: 'archived' };
  // The idempotency key belongs to the request that queued the origin.
  const { idempotency: _idempotency, inputs, inputs_blob, ...settings } = request;
  return {
    kind: 'queued',
    run: {
      settings: { ...settings, user_id, origin: 'replay', rerun_of: run_id },
      inputs: others ? { kind: 'inline', value: others } : readInlineOrBlob(inputs, inputs_blob),
    },
  };
};
