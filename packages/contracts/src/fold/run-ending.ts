import type { BlobRef } from '../blobs.ts';
import { endReasonOf, errorOf, type RunError } from '../events/run-error.ts';
import { storedFiles, type RunOutput } from '../events/run-event-data.ts';
import type { RunEvent, RunEventOf } from '../events/run-event.ts';
import type { RunWarning } from '../events/run-warning.ts';
import { orgId, runId } from '../ids.ts';
import {
  isEnded,
  isExecuting,
  NO_OUTPUTS,
  type DeletedRun,
  type EndedRun,
  type EndReason,
  type ExecutingRun,
  type FinalStatus,
  type LeftToErase,
  type OutputListing,
  type QueuedRun,
  type Run,
  type RunFact,
  type RunRequest,
} from './run.ts';

export type EndingOf<Type extends RunEvent['type']> = RunEventOf<Type>['data'];
type Failure = Ending & { readonly error: RunError };

/** By a fact that says all of the end. */
export const endedBy = (
  event: RunEventOf<'RunSucceeded' | 'RunFailed' | 'RunTimedOut' | 'RunGivenUp'>,
  run: QueuedRun | ExecutingRun,
  fact: RunFact,
): EndedRun => {
  switch (event.type) {
    case 'RunSucceeded':
      return end(run, fact, 'success', 'completed', { ...event.data, progress: 1, error: null });
    case 'RunFailed':
      return failed(run, fact, event.data);
    case 'RunTimedOut':
      return timedOut(run, fact, event.data);
    case 'RunGivenUp':
      return failed(run, fact, givenUp(event.data));
  }
};

export const failed = (run: QueuedRun | ExecutingRun, fact: RunFact, ending: Failure): EndedRun =>
  end(run, fact, statusAfter(ending.error), endReasonOf(ending.error.kind), ending);

/** An executor ends a run at a limit of its time itself, since it alone has the log; a scheduler does where no executor does. */
const statusAfter = ({ kind }: RunError): FinalStatus =>
  kind === 'run_timeout' || kind === 'start_deadline' ? 'timeout' : 'failed';

export const givenUp = ({ reason, message, ...ending }: EndingOf<'RunGivenUp'>): Failure => ({
  ...ending,
  error: errorOf(reason, message),
});

export const timedOut = (
  run: QueuedRun | ExecutingRun,
  fact: RunFact,
  { reason, message, ...ending }: EndingOf<'RunTimedOut'>,
): EndedRun => end(run, fact, 'timeout', reason, { ...ending, error: errorOf(reason, message) });

export const cancelReason = (by: 'client' | 'operator'): EndReason =>
  by === 'client' ? 'cancelled_by_client' : 'cancelled_by_operator';

export const identityOf = (run: Run): Omit<QueuedRun, 'status' | 'attempt'> => ({
  org_id: run.org_id,
  run_id: run.run_id,
  number: run.number,
  request: run.request,
  correlation_id: run.correlation_id,
  traceparent: run.traceparent,
  created_at: run.created_at,
  queued_at: run.queued_at,
  updated_at: run.updated_at,
  output_bytes: run.output_bytes,
  earlier_attempts: run.earlier_attempts,
  not_before: run.not_before,
  ...(run.log_blob && { log_blob: run.log_blob }),
});

export interface Ending {
  readonly outputs?: readonly RunOutput[] | null;
  readonly outputs_blob?: BlobRef | null;
  readonly log_blob?: BlobRef;
  readonly progress?: number;
  readonly error: RunError | null;
  readonly warnings?: readonly RunWarning[];
}

/** What executes a run, as far as its executor knows it. */
export interface ExecutedCode {
  readonly code_sha256?: string;
  readonly environment_sha256?: string;
}

export const codeOf = ({ code_sha256, environment_sha256 }: ExecutedCode): ExecutedCode => ({
  ...(code_sha256 === undefined ? {} : { code_sha256 }),
  ...(environment_sha256 === undefined ? {} : { environment_sha256 }),
});

type ColdParts = Pick<EndingOf<'RunStarted'>, 'cold_start_parts_s'>;

/** Left out where all of it is `load`, as the fact has it. */
export const coldPartsOf = ({ cold_start_parts_s }: ColdParts): ColdParts =>
  cold_start_parts_s === undefined ? {} : { cold_start_parts_s };

export const end = (
  run: QueuedRun | ExecutingRun,
  { time }: RunFact,
  status: FinalStatus,
  reason: EndReason,
  ending: Ending,
): EndedRun => ({
  ...identityOf(run),
  updated_at: time,
  output_bytes: ending.outputs ? bytesOf(ending.outputs) : run.output_bytes,
  status,
  end_reason: reason,
  attempt: run.attempt,
  started_at: 'started_at' in run ? run.started_at : null,
  cold_start_s: 'cold_start_s' in run ? run.cold_start_s : null,
  ...('started_at' in run ? { ...coldPartsOf(run), ...codeOf(run) } : {}),
  ended_at: time,
  // Only an executor knows outputs.
  outputs: ending.outputs === undefined ? [] : ending.outputs,
  outputs_blob: ending.outputs_blob ?? null,
  ...(ending.log_blob && { log_blob: ending.log_blob }),
  deleted_outputs: null,
  error: ending.error,
  ...(ending.warnings && { warnings: ending.warnings }),
  progress: ending.progress ?? 0,
});

/**
 * The end that a fact says of a run that has lost facts before it for good: what both know, and nothing in between. Undefined for a fact that
 * ends no run.
 */
export const endBehindLoss = (run: QueuedRun | ExecutingRun, fact: RunFact): EndedRun | undefined => {
  const { event } = fact;
  const known = isExecuting(run) && isOfAttempt(run, fact) ? run : queuedBefore(run, fact);
  switch (event.type) {
    case 'RunSucceeded':
    case 'RunFailed':
    case 'RunTimedOut':
    case 'RunGivenUp':
      return endedBy(event, known, fact);
    case 'RunCancelled':
    case 'RunCancelEnforced': {
      const by = isExecuting(run) ? run.cancel?.by : undefined;
      return end(known, fact, 'cancelled', cancelReason(by ?? 'client'), { ...event.data, error: null });
    }
    case 'RunCancelRequested':
      // That of a run that executes is about an executor, and ends nothing.
      return event.executor_id === null
        ? end(known, fact, 'cancelled', cancelReason(event.data.by), { error: null })
        : undefined;
    case 'RunQueued':
    case 'RunAssigned':
    case 'RunStarted':
    case 'RunUploading':
    case 'RunRequeued':
    case 'RunAttemptFailed':
    case 'RunExpired':
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return undefined;
  }
};

const isOfAttempt = ({ attempt }: Run, { event }: RunFact): boolean => attempt?.number === event.attempt;

/** Of an attempt that is not known, nothing is said. */
const queuedBefore = (run: QueuedRun | ExecutingRun, fact: RunFact): QueuedRun => ({
  ...identityOf(run),
  status: 'queued',
  attempt: isOfAttempt(run, fact) ? run.attempt : null,
});

/** Of the files among outputs. */
const bytesOf = (outputs: readonly RunOutput[]): number =>
  storedFiles(outputs).reduce((sum, { bytes }) => sum + bytes, 0);

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
