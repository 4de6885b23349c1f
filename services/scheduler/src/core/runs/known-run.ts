import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { LiveRun, RunDecision } from '../decisions/decision.ts';
import { requirementsOf, type Requirements } from '../slots/requirements.ts';
import { runName, type RunName } from '../slots/run-name.ts';
import type { SlotRef } from '../slots/slot-allocation.ts';

/** A run that has not ended, in the scheduler's memory. */
export interface KnownRun {
  readonly name: RunName;
  readonly key: RunKey;
  readonly head: number;
  /** Without inputs: they are read from the log when the run is assigned. */
  readonly run: LiveRun;
  readonly requirements: Requirements;
  /** The event at the head; null when it has no id. */
  readonly event_id: string | null;
  /** The decision that is being appended. */
  pending: RunDecision | null;
  /** A decision was made on this head. The next one waits for another head. */
  decided: boolean;
  /** The slot that it holds, or will hold when the pending assignment is stored. */
  slot: SlotRef | undefined;
}

/** Undefined for a run that has ended: nothing is ever decided on it. */
export const knownRun = (
  key: RunKey,
  head: number,
  run: Run | undefined,
  event_id: string | null,
): KnownRun | undefined => {
  if (!run || isEnded(run)) return undefined;
  return {
    name: runName(key),
    key,
    head,
    run: { ...run, request: { ...run.request, inputs: {} } },
    requirements: requirementsOf(run.request),
    event_id,
    pending: null,
    decided: false,
    slot: isExecuting(run) ? { executor: run.attempt.executor_id, slot: run.attempt.slot } : undefined,
  };
};

/** The members that all decisions on the run have. */
export const decisionBase = ({
  key,
  head,
  event_id,
}: KnownRun): Pick<RunDecision, 'key' | 'expected' | 'causedBy'> => ({
  key,
  expected: head,
  causedBy: event_id,
});
