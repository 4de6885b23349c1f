import { timeOf } from '../rows/time-text.ts';
import { isExecuting, waitsSince, type RunRequest } from '@runledger/contracts/fold/run';
import { uploadTimeoutS } from '@runledger/contracts/limits';
import type { LiveRun } from '../decisions/decision.ts';

export interface DeadlineSettings {
  /** From when an executor has to end a run, because of a cancel request or a time limit, until that is done without it: its grace period and a margin. */
  readonly cancelEnforceMs: number;
}

/** Of a run that waits since this time. */
export const startDeadlineOf = (
  sinceMs: number,
  { start_deadline_s }: Pick<RunRequest, 'start_deadline_s'>,
): number => sinceMs + start_deadline_s * 1_000;

/** When the scheduler has to end the run if nothing else happens, in milliseconds on the broker's clock. */
export const deadlineOf = (run: LiveRun, { cancelEnforceMs }: DeadlineSettings): number => {
  if (isExecuting(run) && run.cancel) return timeOf(run.cancel.requested_at) + cancelEnforceMs;
  const { run_timeout_s } = run.request;
  switch (run.status) {
    case 'queued':
      return startDeadlineOf(timeOf(waitsSince(run)), run.request);
    case 'started':
      return startDeadlineOf(timeOf(waitsSince(run)), run.request) + cancelEnforceMs;
    case 'running':
      return timeOf(run.started_at) + run_timeout_s * 1_000 + cancelEnforceMs;
    case 'uploading':
      // Nothing but a cancel request changes such a run: it was changed when storing began.
      return timeOf(run.updated_at) + uploadTimeoutS(run.output_bytes) * 1_000 + cancelEnforceMs;
  }
};
