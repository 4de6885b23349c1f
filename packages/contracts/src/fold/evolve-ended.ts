import type { RunEventOf } from '../events/run-event.ts';
import { orgId, runId } from '../ids.ts';
import {
  isEnded,
  type DeletedRun,
  type EndedRun,
  type OutputListing,
  type Run,
  type RunFact,
} from './run.ts';

export const NO_OUTPUTS: OutputListing = { outputs: [], outputs_blob: null };

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
  to_erase: run && isEnded(run) ? leftToErase(run) : NO_OUTPUTS,
});

const leftToErase = ({ outputs, outputs_blob, deleted_outputs }: EndedRun): OutputListing =>
  deleted_outputs ? (deleted_outputs.to_erase ?? NO_OUTPUTS) : { outputs, outputs_blob };
