import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { Deployment, WorkflowVersion } from '@runledger/contracts/catalogue/records';
import type { JsonObject } from '@runledger/contracts/json';
import type { Run } from '@runledger/contracts/fold/run';
import { fitInputs, type DrawInteger } from '../records/catalogue/input-values.decide.ts';
import type { MissingPart, QueueDecision, WrongInputs } from './facts/queue-run.decide.ts';

export interface RerunRequest {
  /** Instead of the inputs of the origin. */
  readonly inputs: JsonObject | undefined;
  readonly user_id: string;
  readonly draw: DrawInteger;
}

/** What the catalogue has now of the deployment and the version of the origin; undefined for what is missing. */
export interface OriginFacts {
  readonly deployment: Pick<Deployment, 'archived'> | undefined;
  readonly version: Pick<WorkflowVersion, 'inputs'> | undefined;
}

/** A rerun repeats its origin, with the settings and the version that the origin was queued with. */
export const rerun = (
  { run_id, request }: Run,
  { deployment, version }: OriginFacts,
  { inputs: others, user_id, draw }: RerunRequest,
): QueueDecision<MissingPart | WrongInputs> => {
  if (!deployment) return { kind: 'refused', why: 'deployment' };
  if (deployment.archived) return { kind: 'refused', why: 'archived' };
  if (!version) return { kind: 'refused', why: 'workflow version' };
  // The inputs of the origin fitted when it was queued.
  const fitted = others && fitInputs(version.inputs, others, draw);
  if (fitted?.kind === 'wrong')
    return { kind: 'refused', why: { kind: 'wrong_inputs', wrong: fitted.wrong } };
  // The idempotency key, the schedule and the number belong to what queued the origin, and which inputs are files to its inputs. When it started was its own time.
  const {
    idempotency: _key,
    schedule: _schedule,
    number: _number,
    file_inputs: _files,
    delay_s: _delay,
    start_at: _start,
    secret_inputs,
    inputs,
    inputs_blob,
    ...settings
  } = request;
  // Those of the origin are sealed already.
  const sealed = fitted || !secret_inputs ? {} : { secret_inputs };
  return {
    kind: 'queued',
    run: {
      settings: { ...settings, ...sealed, user_id, origin: 'replay', rerun_of: run_id },
      inputs: fitted ? { kind: 'inline', value: fitted.inputs } : readInlineOrBlob(inputs, inputs_blob),
    },
  };
};
