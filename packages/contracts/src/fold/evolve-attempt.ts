import { isImpossible, type Impossible } from './chain.ts';
import type { CancelRequest, RunFact } from './run.ts';

/** The state of an attempt, derived from its own facts: its executor may read no others. */
export type AttemptState =
  | { readonly status: 'started' | 'running' | 'uploading'; readonly cancel: CancelRequest | null }
  /** Requeued or ended: no fact of this attempt follows. */
  | { readonly status: 'over' };

/** An attempt that has not ended. */
export type AttemptUnderWay = Exclude<AttemptState, { readonly status: 'over' }>;

/**
 * The fold of one attempt, from its RunAssigned on; every fact must be about this attempt. It alone defines which fact
 * may follow which while a run executes: the fold of the run uses it.
 */
export const evolveAttempt = (
  attempt: AttemptState | undefined,
  fact: RunFact,
): AttemptState | Impossible => {
  const { event, time } = fact;
  if (event.type === 'RunAssigned') {
    return attempt ? impossible(attempt, fact) : { status: 'started', cancel: null };
  }
  if (!attempt || attempt.status === 'over') return impossible(attempt, fact);
  const { status, cancel } = attempt;
  const orImpossible = (isPossible: boolean, next: AttemptState): AttemptState | Impossible =>
    isPossible ? next : impossible(attempt, fact);
  switch (event.type) {
    // The last two are about no executor.
    case 'RunQueued':
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return impossible(attempt, fact);
    case 'RunCancelRequested':
      return orImpossible(!cancel, { status, cancel: { requested_at: time, by: event.data.by } });
    case 'RunStarted':
      return orImpossible(status === 'started', { status: 'running', cancel });
    case 'RunUploading':
      return orImpossible(status === 'running', { status: 'uploading', cancel });
    case 'RunSucceeded':
      return orImpossible(status !== 'started' && !cancel, OVER);
    case 'RunTimedOut': {
      const hasStarted = status !== 'started';
      return orImpossible(!cancel && (event.data.reason === 'run_timeout') === hasStarted, OVER);
    }
    case 'RunAttemptFailed':
      return orImpossible(!cancel && (status === 'started' || !event.data.is_void), OVER);
    case 'RunRequeued':
    case 'RunFailed':
    case 'RunGivenUp':
      return orImpossible(!cancel, OVER);
    case 'RunCancelled':
    case 'RunCancelEnforced':
      return orImpossible(cancel !== null, OVER);
    case 'RunExpired':
      return OVER;
  }
};

const OVER: AttemptState = { status: 'over' };

const impossible = (attempt: AttemptState | undefined, { event }: RunFact): Impossible => ({
  impossible: `${event.type} of attempt ${event.attempt} cannot follow ${
    attempt ? `an attempt that is ${describe(attempt)}` : 'nothing'
  }`,
});

const describe = (attempt: AttemptState): string =>
  attempt.status !== 'over' && attempt.cancel ? `${attempt.status}, its cancel requested` : attempt.status;

/** Whether the fact may follow. */
export const mayFollow = (attempt: AttemptUnderWay, fact: RunFact): boolean =>
  !isImpossible(evolveAttempt(attempt, fact));
