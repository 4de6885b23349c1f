import { errorMessage, errorOf, type RunError } from '../events/run-error.ts';
import type { RunEvent, RunEventOf } from '../events/run-event.ts';
import { executorId, isExecutorId, orgId, runId } from '../ids.ts';
import { MAX_EARLIER_ERROR_MESSAGE } from '../limits.ts';
import type { Impossible } from './chain.ts';
import { mayFollow } from './evolve-attempt.ts';
import {
  cancelReason,
  codeOf,
  coldPartsOf,
  deleted,
  end,
  endedBy,
  failed,
  givenUp,
  identityOf,
  outputsDeleted,
  timedOut,
  type Ending,
  type EndingOf,
} from './run-ending.ts';
import {
  firstNotBefore,
  isDeleted,
  isEnded,
  isExecuting,
  laterBy,
  NO_OUTPUTS,
  type Attempt,
  type EarlierAttempt,
  type ExecutingRun,
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
        ...coldPartsOf(event.data),
        ...codeOf(event.data),
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

/** The end reason says who requested the cancellation. */
const cancelled = (run: ExecutingRun, fact: RunFact, ending: Ending): Run | Impossible =>
  run.cancel ? end(run, fact, 'cancelled', cancelReason(run.cancel.by), ending) : impossible(run, fact);

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
