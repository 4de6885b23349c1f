import { isExecutorId, orgId, runId } from '../ids.ts';
import {
  isEnded,
  isExecuting,
  type Attempt,
  type EndReason,
  type EndedRun,
  type ExecutingRun,
  type RunFact,
  type FinalStatus,
  type Run,
} from './run.ts';
import type { RunEvent, RunEventOf } from '../events/run-event.ts';
import type { RunOutput } from '../events/run-event-data.ts';

/** A fact that cannot follow from the run's situation. It changes nothing, whatever it says. */
export interface Impossible {
  readonly impossible: string;
}

type FactOfType<Type extends RunEvent['type']> = RunFact & { readonly event: RunEventOf<Type> };

/**
 * The one fold of a run: the situation after a fact. Every service derives what it knows of a run from it.
 * Pure and total: an impossible fact is answered, not thrown, so that a reader can report it and go on.
 */
export const evolveRun = (run: Run | undefined, fact: RunFact): Run | Impossible => {
  const { event } = fact;
  if (event.type === 'RunQueued') return run ? impossible(run, fact) : queued({ ...fact, event });
  if (!run || isEnded(run)) return impossible(run, fact);
  switch (event.type) {
    case 'RunCancelRequested':
      return cancelRequested(run, { ...fact, event });
    case 'RunAssigned':
      return assigned(run, { ...fact, event });
    case 'RunRequeued':
      return requeued(run, { ...fact, event });
    case 'RunStarted':
      return started(run, { ...fact, event });
    case 'RunUploading':
      return uploading(run, { ...fact, event });
    case 'RunSucceeded':
      return succeeded(run, { ...fact, event });
    case 'RunFailed':
      return failed(run, { ...fact, event });
    case 'RunCancelled':
      return cancelled(run, { ...fact, event });
    case 'RunTimedOut':
      return timedOut(run, { ...fact, event });
    case 'RunGivenUp':
      return givenUp(run, { ...fact, event });
    case 'RunCancelEnforced':
      return cancelEnforced(run, { ...fact, event });
  }
};

export const isImpossible = (result: Run | Impossible): result is Impossible => 'impossible' in result;

const impossible = (run: Run | undefined, { event }: RunFact): Impossible => ({
  impossible: `${event.type} of attempt ${event.attempt} (${event.executor_id ?? 'no executor'}) cannot follow ${
    run ? `a run that is ${describe(run)}` : 'nothing'
  }`,
});

const describe = (run: Run): string => {
  const cancel = isExecuting(run) && run.cancel ? ', its cancel requested' : '';
  return run.attempt
    ? `${run.status} (attempt ${run.attempt.number} on ${run.attempt.executor_id}${cancel})`
    : run.status;
};

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
    attempt: null,
  };
};

const assigned = (run: Run, fact: FactOfType<'RunAssigned'>): Run | Impossible => {
  const { event, time } = fact;
  if (run.status !== 'queued' || event.executor_id === null || !isExecutorId(event.executor_id))
    return impossible(run, fact);
  if (event.attempt !== (run.attempt?.number ?? 0) + 1) return impossible(run, fact);
  const attempt: Attempt = {
    number: event.attempt,
    executor_id: event.executor_id,
    occupancy_id: event.data.occupancy_id,
    slot: event.data.slot,
    executor_public_key: event.data.executor_public_key,
    assigned_at: time,
  };
  return { ...run, status: 'started', attempt, cancel: null, updated_at: time };
};

const requeued = (run: Run, fact: FactOfType<'RunRequeued'>): Run | Impossible => {
  if (!isCurrent(run, fact) || run.cancel) return impossible(run, fact);
  const { cancel: _cancel, attempt, ...identity } = withoutStart(run);
  return { ...identity, status: 'queued', attempt, queued_at: fact.time, updated_at: fact.time };
};

const started = (run: Run, fact: FactOfType<'RunStarted'>): Run | Impossible =>
  isCurrent(run, fact) && run.status === 'started'
    ? { ...run, status: 'running', started_at: fact.time, updated_at: fact.time }
    : impossible(run, fact);

const uploading = (run: Run, fact: FactOfType<'RunUploading'>): Run | Impossible =>
  isCurrent(run, fact) && run.status === 'running'
    ? { ...run, status: 'uploading', updated_at: fact.time }
    : impossible(run, fact);

const cancelRequested = (run: Run, fact: FactOfType<'RunCancelRequested'>): Run | Impossible => {
  const { event, time } = fact;
  if (run.status === 'queued') {
    if (event.executor_id !== null || event.attempt !== (run.attempt?.number ?? 0))
      return impossible(run, fact);
    return end(run, fact, 'cancelled', cancelReason(event.data.by), { message: null });
  }
  if (!isCurrent(run, fact) || run.cancel) return impossible(run, fact);
  return { ...run, cancel: { requested_at: time, by: event.data.by }, updated_at: time };
};

const succeeded = (run: Run, fact: FactOfType<'RunSucceeded'>): Run | Impossible =>
  isCurrent(run, fact) && (run.status === 'running' || run.status === 'uploading') && !run.cancel
    ? end(run, fact, 'success', 'completed', { outputs: fact.event.data.outputs, progress: 1, message: null })
    : impossible(run, fact);

const failed = (run: Run, fact: FactOfType<'RunFailed'>): Run | Impossible =>
  isCurrent(run, fact) && !run.cancel
    ? end(run, fact, 'failed', fact.event.data.reason, fact.event.data)
    : impossible(run, fact);

const cancelled = (run: Run, fact: FactOfType<'RunCancelled'>): Run | Impossible =>
  isCurrent(run, fact) && run.cancel
    ? end(run, fact, 'cancelled', cancelReason(run.cancel.by), { ...fact.event.data, message: null })
    : impossible(run, fact);

const timedOut = (run: Run, fact: FactOfType<'RunTimedOut'>): Run | Impossible => {
  const { reason } = fact.event.data;
  if (!isAddressed(run, fact) || (isExecuting(run) && run.cancel)) return impossible(run, fact);
  const fits = reason === 'run_timeout' ? hasStarted(run) : !hasStarted(run);
  return fits ? end(run, fact, 'timeout', reason, fact.event.data) : impossible(run, fact);
};

const givenUp = (run: Run, fact: FactOfType<'RunGivenUp'>): Run | Impossible =>
  isAddressed(run, fact) && !(isExecuting(run) && run.cancel)
    ? end(run, fact, 'failed', fact.event.data.reason, fact.event.data)
    : impossible(run, fact);

const cancelEnforced = (run: Run, fact: FactOfType<'RunCancelEnforced'>): Run | Impossible =>
  isCurrent(run, fact) && run.cancel
    ? end(run, fact, 'cancelled', cancelReason(run.cancel.by), fact.event.data)
    : impossible(run, fact);

const hasStarted = (run: Run): boolean => run.status === 'running' || run.status === 'uploading';

const cancelReason = (by: 'client' | 'operator'): EndReason =>
  by === 'client' ? 'cancelled_by_client' : 'cancelled_by_operator';

/** The fact speaks of the attempt that is under way. */
const isCurrent = (run: Run, { event }: RunFact): run is ExecutingRun =>
  isExecuting(run) && event.attempt === run.attempt.number && event.executor_id === run.attempt.executor_id;

/** The fact speaks of the attempt under way or, while the run is queued, of none. */
const isAddressed = (run: Run, fact: RunFact): boolean =>
  run.status === 'queued'
    ? fact.event.executor_id === null && fact.event.attempt === (run.attempt?.number ?? 0)
    : isCurrent(run, fact);

const withoutStart = (run: ExecutingRun): Omit<ExecutingRun, 'started_at'> => {
  if (run.status === 'started') return run;
  const { started_at: _started_at, ...rest } = run;
  return rest;
};

interface Ending {
  readonly outputs?: readonly RunOutput[];
  readonly progress?: number;
  readonly message: string | null;
}

const end = (
  run: Run,
  { time }: RunFact,
  status: FinalStatus,
  reason: EndReason,
  ending: Ending,
): EndedRun => ({
  org_id: run.org_id,
  run_id: run.run_id,
  number: run.number,
  request: run.request,
  correlation_id: run.correlation_id,
  traceparent: run.traceparent,
  created_at: run.created_at,
  queued_at: run.queued_at,
  updated_at: time,
  status,
  end_reason: reason,
  attempt: run.attempt,
  started_at: 'started_at' in run ? run.started_at : null,
  ended_at: time,
  outputs: ending.outputs ?? [],
  message: ending.message,
  progress: ending.progress ?? 0,
});
