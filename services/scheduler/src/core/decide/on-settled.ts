import type { Decision, DeclareLost, RunDecision } from '../decisions/decision.ts';
import { giveUpLoss } from '../fleet/membership.ts';
import type { Outcome } from '../state/scheduler-input.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';
import { decideOn, freeSlot, fillSlots } from './decide.ts';
import { onRunUnreadable } from './on-run.ts';

/** The outcome of executing a decision. A stored decision counts when its fact is read from the log. */
export const onSettled = (state: SchedulerState, decision: Decision, outcome: Outcome): RunDecision[] => {
  if (outcome === 'stored') return [];
  return decision.type === 'declare_lost'
    ? onLossNotStored(state, decision)
    : onNotStored(state, decision, outcome);
};

const onLossNotStored = (state: SchedulerState, { executor: id }: DeclareLost): RunDecision[] => {
  const executor = state.fleet.executors.get(id);
  if (!executor?.lossPending) return [];
  giveUpLoss(state.fleet, executor, state.connectedMs);
  return fillSlots(state, executor);
};

const onNotStored = (
  state: SchedulerState,
  decision: RunDecision,
  outcome: Exclude<Outcome, 'stored'>,
): RunDecision[] => {
  const known = state.runs.get(decision.key);
  if (known?.pending !== decision) return [];
  if (outcome === 'expired') return onRunUnreadable(state, decision.key);
  // The fact that came first will arrive. Until then nothing is decided on this run.
  known.pending = null;
  // Others have the slot first: what could not be executed may fail again.
  const freed = decision.type === 'assign' ? freeSlot(state, known, state.runs.releaseSlot(known)) : [];
  if (outcome !== 'failed') return freed;
  known.decided = false;
  state.runs.schedule(known);
  return [...freed, ...decideOn(state, known)];
};
