import type { RunEventOf } from '../events/run-event.ts';
import { orgId, runId } from '../ids.ts';
import {
  isEnded,
  NO_OUTPUTS,
  type DeletedRun,
  type EndedRun,
  type LeftToErase,
  type OutputListing,
  type Run,
  type RunFact,
  type RunRequest,
} from './run.ts';

/**
 * The list of outputs is empty from now on. What was in it stays for whoever erases the files. Undefined for a fact that cannot
 * follow.
 */
export const outputsDeleted = (run: EndedRun, { event, time }: RunFact): EndedRun | undefined => {
  const isAddressed = event.executor_id === null && event.attempt === (run.attempt?.number ?? 0);
  if (event.type !== 'RunOutputsDeleted' || !isAddressed || run.deleted_outputs) return undefined;
  const { outputs, outputs_blob } = run;
  return {
    ...run,
    ...NO_OUTPUTS,
    updated_at: time,
    output_bytes: 0,
    deleted_outputs: { deleted_at: time, to_erase: { outputs, outputs_blob } },
  };
};

/** Only a run that has ended is deleted. A reader that is behind may have missed its end, which may have expired since. */
export const deleted = (run: Run | undefined, event: RunEventOf<'RunDeleted'>, time: string): DeletedRun => ({
  status: 'deleted',
  org_id: orgId(event.org_id),
  run_id: runId(event.run_id),
  number: event.data.number,
  created_at: event.data.created_at,
  deleted_at: time,
  deleted_by: { user_id: event.data.user_id, key_id: event.data.key_id },
  erases: event.data.erases,
  to_erase: run && isEnded(run) ? leftToErase(run) : NO_OUTPUTS,
});

const leftToErase = (run: EndedRun): LeftToErase => {
  const { outputs, outputs_blob } = outputsLeft(run);
  const blobs = [run.request.inputs_blob, outputs_blob, run.log_blob].filter((blob) => !!blob);
  const files = filesOf(run.request);
  return { outputs, outputs_blob, ...(blobs.length > 0 && { blobs }), ...(files && { files }) };
};

const filesOf = ({ file_inputs: names, inputs, inputs_blob }: RunRequest): LeftToErase['files'] =>
  names && {
    names,
    inputs: inputs && Object.fromEntries(Object.entries(inputs).filter(([name]) => names.includes(name))),
    inputs_blob,
  };

/** The outputs of the run, or what is left to erase of those that were deleted. */
const outputsLeft = ({ outputs, outputs_blob, deleted_outputs }: EndedRun): OutputListing =>
  deleted_outputs ? (deleted_outputs.to_erase ?? NO_OUTPUTS) : { outputs, outputs_blob };
