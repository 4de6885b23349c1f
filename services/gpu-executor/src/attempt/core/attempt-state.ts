import type { RunEvent, RunEventOf, RunEventType } from '@runledger/contracts/events/run-event';
import type { Chain, FactOf, Impossible } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { Assignment } from './assignment.ts';

/** An attempt that has not ended. */
export interface AttemptUnderWay {
  readonly status: 'started' | 'running' | 'uploading';
  readonly cancel: { readonly by: RunEventOf<'RunCancelRequested'>['data']['by'] } | null;
}

/** The state of an attempt, from the facts that are addressed to its executor. */
export type AttemptState = AttemptUnderWay | { readonly status: 'over' };

export const ASSIGNED: AttemptState = { status: 'started', cancel: null };

/**
 * The lifecycle of a run as one attempt sees it. It accepts the same facts as the fold of the whole run, but
 * does not know the request and earlier attempts.
 */
export const attemptChain = ({
  attempt,
  executor_id,
}: Pick<Assignment, 'attempt' | 'executor_id'>): Chain<RunEventType, RunEvent, AttemptState> => ({
  ...RUN_CHAIN,
  evolve: (state, { event }) =>
    event.attempt === attempt && event.executor_id === executor_id
      ? evolveAttempt(state, event)
      : impossible(event, state),
});

const evolveAttempt = (state: AttemptState | undefined, event: RunEvent): AttemptState | Impossible => {
  if (!state || state.status === 'over' || !isPossible(state, event)) return impossible(event, state);
  switch (event.type) {
    case 'RunStarted':
      return { ...state, status: 'running' };
    case 'RunUploading':
      return { ...state, status: 'uploading' };
    case 'RunCancelRequested':
      return { ...state, cancel: { by: event.data.by } };
    case 'RunQueued':
    case 'RunAssigned':
    case 'RunRequeued':
    case 'RunSucceeded':
    case 'RunFailed':
    case 'RunCancelled':
    case 'RunTimedOut':
    case 'RunGivenUp':
    case 'RunCancelEnforced':
    case 'RunExpired':
      return { status: 'over' };
  }
};

const isPossible = ({ status, cancel }: AttemptUnderWay, event: RunEvent): boolean => {
  switch (event.type) {
    case 'RunQueued':
    case 'RunAssigned':
      return false;
    case 'RunStarted':
      return status === 'started';
    case 'RunUploading':
      return status === 'running';
    case 'RunSucceeded':
      return status !== 'started' && cancel === null;
    case 'RunTimedOut':
      return cancel === null && (event.data.reason === 'run_timeout') === (status !== 'started');
    case 'RunCancelRequested':
    case 'RunRequeued':
    case 'RunFailed':
    case 'RunGivenUp':
      return cancel === null;
    case 'RunCancelled':
    case 'RunCancelEnforced':
      return cancel !== null;
    case 'RunExpired':
      return true;
  }
};

const impossible = (
  { type, attempt, executor_id }: FactOf<RunEvent>['event'],
  state: AttemptState | undefined,
): Impossible => ({
  impossible: `${type} of attempt ${attempt} (${executor_id ?? 'no executor'}) cannot follow an attempt that is ${
    state?.status ?? 'unknown'
  }`,
});
