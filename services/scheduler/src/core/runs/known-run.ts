import { gpuOf, isDeleted, isEnded, isExecuting } from '@runledger/contracts/fold/run';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { LiveRun, RunDecision } from '../decisions/decision.ts';
import type { Requirements } from '../slots/requirements.ts';
import { runName, type RunName } from '../slots/run-name.ts';
import type { HeldSlot } from '../slots/slot-allocation.ts';
import type { Place } from './fair-queue.ts';
import type { SharedRequests } from './shared-requests.ts';

/** A run that has not ended, in the scheduler's memory. */
export interface KnownRun {
  readonly name: RunName;
  readonly key: RunKey;
  readonly head: number;
  /** Its request is shared, without what differs from run to run: that is read from the log when the run is assigned. */
  readonly run: LiveRun;
  readonly requirements: Requirements;
  /** As in `SharedRequest`. */
  readonly line: string;
  /** The event at the head; null when it has no id. */
  readonly event_id: string | null;
  /** The decision that is being appended. */
  pending: RunDecision | null;
  /** A decision was made on this head. The next one waits for another head. */
  decided: boolean;
  /** The slot that it holds, or will hold when the pending assignment is stored. */
  slot: HeldSlot | undefined;
  /** Where it waits or holds its slot; undefined while it does neither. */
  place: Place | undefined;
}

/** Undefined for a run that has ended: nothing is ever decided on it. */
export const knownRun = (
  { head, state: run }: RunHistory,
  event_id: string | null,
  requests: SharedRequests,
): KnownRun | undefined => {
  if (!run || isEnded(run) || isDeleted(run)) return undefined;
  const { org_id, request, requirements, line } = requests.of(run);
  // Not the ids of the caller's key: they are parts of a subject, and would keep all of it in memory.
  const key = { org_id, run_id: run.run_id };
  return {
    name: runName(key),
    key,
    head,
    run: { ...run, org_id, request },
    requirements,
    line,
    event_id,
    pending: null,
    decided: false,
    slot: isExecuting(run)
      ? { executor: run.attempt.executor_id, slot: run.attempt.slot, gpu: gpuOf(run) }
      : undefined,
    place: undefined,
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
