import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { EnforceCancel, GiveUp, Requeue } from './decisions/decision.ts';
import type { KnownRun } from './runs/known-run.ts';
import {
  allAttemptsLost,
  attemptLost,
  cancelledWithoutExecutor,
  type Departure,
} from './decisions/messages.ts';

/** What becomes of a run whose executor is not there any more: it is begun again, or ends. */
export const recovery = (
  { key, head, event_id }: KnownRun,
  run: ExecutingRun,
  how: Departure,
): Requeue | GiveUp | EnforceCancel => {
  const on = { key, run, expected: head, answers: event_id };
  if (run.cancel) return { ...on, type: 'enforce_cancel', message: cancelledWithoutExecutor(run, how) };
  if (run.attempt.number < run.request.max_attempts) {
    return { ...on, type: 'requeue', reason: how, message: attemptLost(run, how) };
  }
  return { ...on, type: 'give_up', reason: 'executor_lost', message: allAttemptsLost(run, how) };
};
