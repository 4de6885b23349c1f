import { mayHaveAnother, type ExecutingRun } from '@runledger/contracts/fold/run';
import type { EnforceCancel, GiveUp, Requeue } from '../decisions/decision.ts';
import {
  allAttemptsLost,
  attemptLost,
  cancelledWithoutExecutor,
  type RemovalReason,
} from '../decisions/messages.ts';
import { decisionBase, type KnownRun } from '../runs/known-run.ts';

/** A run whose executor left or was lost is queued again, or ends. */
export const recovery = (
  known: KnownRun,
  run: ExecutingRun,
  reason: RemovalReason,
): Requeue | GiveUp | EnforceCancel => {
  const base = { ...decisionBase(known), run };
  if (run.cancel) {
    return { ...base, type: 'enforce_cancel', message: cancelledWithoutExecutor(run, reason) };
  }
  if (mayHaveAnother(run, run.attempt.number)) {
    return { ...base, type: 'requeue', reason, message: attemptLost(run, reason) };
  }
  return { ...base, type: 'give_up', reason: 'executor_lost', message: allAttemptsLost(run, reason) };
};
