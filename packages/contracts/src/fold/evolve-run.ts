import type { RunEvent, RunEventOf } from '../events/run-event.ts';
import type { BlobRef } from '../blobs.ts';
import { storedFiles, type RunOutput } from '../events/run-event-data.ts';
import type { RunWarning } from '../warnings/run-warning.ts';
import { endReasonOf, errorOf, type RunError } from '../events/run-error.ts';
import { errorMessage } from '../events/error-message.ts';
import { MAX_EARLIER_ERROR_MESSAGE } from '../limits.ts';
import { executorId, isExecutorId, orgId, runId } from '../ids.ts';
import type { Impossible } from './chain.ts';
import { mayFollow } from './evolve-attempt.ts';
import { firstNotBefore, laterBy } from './not-before.ts';
import { deleted, outputsDeleted } from './evolve-ended.ts';
import {
  isDeleted,
  isEnded,
  isExecuting,
  NO_OUTPUTS,
  type Attempt,
  type EarlierAttempt,
  type EndReason,
  type EndedRun,
  type ExecutingRun,
  type FinalStatus,
  type QueuedRun,
  type Run,
  type RunFact,
  type RunState,
} from './run.ts';

type FactOfType<Type extends RunEvent['type']> = RunFact & { readonly event: RunEventOf<Type> };

/**
 * The only fold of a run: its state after a fact. Every service derives its state of a run with it.
 * Pure and total: it returns an impossible fact instead of throwing, so that a reader can report it and continue.
 */
export const evolveRun = (run: RunState | undefined, fact: RunFact): RunState | Impossible => {
  const { event } = fact;
  if (event.type === 'RunQueued') return run ? impossible(run, fact) : queued({ ...fact, event });
  if (run && isDeleted(run)) return impossible(run, fact);
  if (event.type === 'RunDeleted') return deleted(run, event, fact.time);
  if (event.type === 'RunExpired') return expired(run, { ...fact, event });
  if (!run) return impossible(run, fact);
  if (isEnded(run)) return outputsDeleted(run, fact) ?? impossible(run, fact);
  return isExecuting(run) ? evolveExecuting(run, fact) : evolveQueued(run, fact);
};

/** A queued run is assigned, or ends without another attempt. */
const evolveQueued = (run: QueuedRun, fact: RunFact): Run | Impossible => {
  const { event } = fact;
  if (event.type === 'RunAssigned') return assigned(run, { ...fact, event });
  // Such a fact is about no executor, and names the last attempt.
  const isAddressed = event.executor_id === null && event.attempt === (run.attempt?.number ?? 0);
  if (!isAddressed) return impossible(run, fact);
  switch (event.type) {
    case 'RunCancelRequested':
      return end(run, fact, 'cancelled', cancelReason(event.data.by), { error: null });
    case 'RunTimedOut':
      return event.data.reason === 'run_timeout' ? impossible(run, fact) : timedOut(run, fact, event.data);
    case 'RunGivenUp':
      return failed(run, fact, givenUp(event.data));
    case 'RunQueued':
    case 'RunStarted':
    case 'RunUploading':
    case 'RunRequeued':
    case 'RunAttemptFailed':
    case 'RunSucceeded':
    case 'RunFailed':
    case 'RunCancelled':
    case 'RunCancelEnforced':
    case 'RunExpired':
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return impossible(run, fact);
  }
};

const evolveExecuting = (run: ExecutingRun, fact: RunFact): Run | Impossible => {
  const { event, time } = fact;
  const isCurrent = event.attempt === run.attempt.number && event.executor_id === run.attempt.executor_id;
  if (!isCurrent || !mayFollow(run, fact)) return impossible(run, fact);
  switch (event.type) {
    case 'RunQueued':
    case 'RunAssigned':
    case 'RunExpired':
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return impossible(run, fact);
    case 'RunCancelRequested':
      return { ...run, cancel: { requested_at: time, by: event.data.by }, updated_at: time };
    case 'RunStarted':
      return {
        ...run,
        status: 'running',
        started_at: time,
        cold_start_s: event.data.cold_start_s,
        updated_at: time,
      };
    case 'RunUploading':
      return run.status === 'started'
        ? impossible(run, fact)
        : { ...run, status: 'uploading', output_bytes: event.data.bytes, updated_at: time };
    case 'RunRequeued':
      return queuedAgain(run, fact, errorOf(event.data.reason, event.data.message), null);
    case 'RunAttemptFailed':
      return attemptFailed(run, fact, event.data);
    case 'RunSucceeded':
    case 'RunFailed':
    case 'RunTimedOut':
    case 'RunGivenUp':
      return endedBy(event, run, fact);
    case 'RunCancelled':
    case 'RunCancelEnforced':
      return cancelled(run, fact, { ...event.data, error: null });
  }
};

const impossible = (run: RunState | undefined, { event }: RunFact): Impossible => ({
  impossible: `${event.type} of attempt ${event.attempt} (${event.executor_id ?? 'no executor'}) cannot follow ${
    run ? `a run that is ${describe(run)}` : 'nothing'
  }`,
});

const describe = (run: RunState): string => {
  if (isDeleted(run)) return run.status;
  const cancel = isExecuting(run) && run.cancel ? ', its cancel requested' : '';
  return run.attempt
    ? `${run.status} (attempt ${run.attempt.number} on ${run.attempt.executor_id}${cancel})`
    : run.status;
};

/** Shared: the scheduler has many runs in memory. */
const NO_ATTEMPTS: readonly EarlierAttempt[] = [];

const queued = ({ event, sequence, time }: FactOfType<'RunQueued'>): Run | Impossible => {
  if (event.attempt !== 0 || event.executor_id !== null) return { impossible: 'RunQueued names an attempt' };
  return {
    status: 'queued',
    org_id: orgId(event.org_id),
    run_id: runId(event.run_id),
    number: sequence,
    request: event.data,
    correlation_id: event.correlation_id,
    traceparent: event.traceparent,
    created_at: time,
    queued_at: time,
    updated_at: time,
    output_bytes: 0,
    earlier_attempts: NO_ATTEMPTS,
    not_before: firstNotBefore(event.data, time),
    attempt: null,
  };
};

const assigned = (run: QueuedRun, fact: FactOfType<'RunAssigned'>): Run | Impossible => {
  const { event, time } = fact;
  if (event.executor_id === null || !isExecutorId(event.executor_id)) return impossible(run, fact);
  if (event.attempt !== (run.attempt?.number ?? 0) + 1) return impossible(run, fact);
  const attempt: Attempt = {
    number: event.attempt,
    executor_id: event.executor_id,
    slot_allocation_id: event.data.slot_allocation_id,
    slot: event.data.slot,
    ...(event.data.gpu !== run.request.gpu && { gpu: event.data.gpu }),
    executor_public_key: event.data.executor_public_key,
    assigned_at: time,
    ...(event.data.reason && { placement: event.data.reason }),
    ...(event.data.fact_versions && { fact_versions: event.data.fact_versions }),
  };
  return { ...run, status: 'started', attempt, cancel: null, updated_at: time };
};

/** The fact has everything, since the log may hold nothing else of the run. */
const expired = (run: Run | undefined, fact: FactOfType<'RunExpired'>): Run | Impossible => {
  const { event, time } = fact;
  const { message, request, attempt, cancel, ...times } = event.data;
  if (run && isEnded(run)) return impossible(run, fact);
  const isAddressed = event.executor_id === null || event.executor_id === attempt?.executor_id;
  if (!isAddressed || event.attempt !== (attempt?.number ?? 0)) {
    return { impossible: 'RunExpired names another attempt than its data' };
  }
  return {
    ...times,
    org_id: orgId(event.org_id),
    run_id: runId(event.run_id),
    request,
    correlation_id: event.correlation_id,
    traceparent: event.traceparent,
    updated_at: time,
    output_bytes: run?.output_bytes ?? 0,
    earlier_attempts: run?.earlier_attempts ?? [],
    not_before: run?.not_before ?? null,
    ...(run?.log_blob && { log_blob: run.log_blob }),
    // After a cancel request the only end is `cancelled`.
    status: cancel ? 'cancelled' : 'failed',
    end_reason: cancel ? cancelReason(cancel.by) : 'log_expired',
    attempt: attempt && { ...attempt, executor_id: executorId(attempt.executor_id) },
    ended_at: time,
    ...NO_OUTPUTS,
    deleted_outputs: null,
    error: cancel ? null : errorOf('log_expired', message),
    progress: 0,
  };
};

type EndingOf<Type extends RunEvent['type']> = RunEventOf<Type>['data'];
type Failure = Ending & { readonly error: RunError };

/** By a fact that says all of the end. */
const endedBy = (
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

const failed = (run: QueuedRun | ExecutingRun, fact: RunFact, ending: Failure): EndedRun =>
  end(run, fact, statusAfter(ending.error), endReasonOf(ending.error.kind), ending);

/** An executor ends a run at a limit of its time itself, since it alone has the log; a scheduler does where no executor does. */
const statusAfter = ({ kind }: RunError): FinalStatus =>
  kind === 'run_timeout' || kind === 'start_deadline' ? 'timeout' : 'failed';

const givenUp = ({ reason, message, ...ending }: EndingOf<'RunGivenUp'>): Failure => ({
  ...ending,
  error: errorOf(reason, message),
});

const timedOut = (
  run: QueuedRun | ExecutingRun,
  fact: RunFact,
  { reason, message, ...ending }: EndingOf<'RunTimedOut'>,
): EndedRun => end(run, fact, 'timeout', reason, { ...ending, error: errorOf(reason, message) });

/** The end reason says who requested the cancellation. */
const cancelled = (run: ExecutingRun, fact: RunFact, ending: Ending): Run | Impossible =>
  run.cancel ? end(run, fact, 'cancelled', cancelReason(run.cancel.by), ending) : impossible(run, fact);

const cancelReason = (by: 'client' | 'operator'): EndReason =>
  by === 'client' ? 'cancelled_by_client' : 'cancelled_by_operator';

const identityOf = (run: Run): Omit<QueuedRun, 'status' | 'attempt'> => ({
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

const queuedAgain = (
  run: ExecutingRun,
  { time }: RunFact,
  error: RunError,
  not_before: string | null,
): QueuedRun => ({
  ...identityOf(run),
  status: 'queued',
  attempt: run.attempt,
  earlier_attempts: [...run.earlier_attempts, earlierAttempt(run, error, time)],
  queued_at: time,
  updated_at: time,
  not_before,
});

const attemptFailed = (
  run: ExecutingRun,
  fact: RunFact,
  { error, retry_after_s, log_blob, is_void }: EndingOf<'RunAttemptFailed'>,
): Run => {
  const again = queuedAgain(run, fact, error, is_void ? null : laterBy(fact.time, retry_after_s));
  const before = again.earlier_attempts;
  return {
    ...again,
    ...(log_blob && { log_blob }),
    ...(is_void && {
      earlier_attempts: before.map((one, n) => (n < before.length - 1 ? one : { ...one, is_void })),
    }),
  };
};

const earlierAttempt = (run: ExecutingRun, error: RunError, ended_at: string): EarlierAttempt => ({
  number: run.attempt.number,
  executor_id: run.attempt.executor_id,
  ...(run.attempt.gpu !== undefined && { gpu: run.attempt.gpu }),
  ...(run.attempt.placement && { placement: run.attempt.placement }),
  started_at: 'started_at' in run ? run.started_at : null,
  ended_at,
  error: { ...error, message: errorMessage(error.message, MAX_EARLIER_ERROR_MESSAGE) },
});

interface Ending {
  readonly outputs?: readonly RunOutput[] | null;
  readonly outputs_blob?: BlobRef | null;
  readonly log_blob?: BlobRef;
  readonly progress?: number;
  readonly error: RunError | null;
  readonly warnings?: readonly RunWarning[];
}

const end = (
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
