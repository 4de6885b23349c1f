import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { timeOf } from './runs/time-text.ts';
import { addDuration } from './durations.ts';
import type { RunDecision, Decision, DeclareLost } from './decision.ts';
import { keepLeftover } from './heartbeats.ts';
import { knownRun, type KnownRun } from './runs/known-run.ts';
import type { RunUpdate, Outcome } from './scheduler-input.ts';
import { isSameSlot, type SlotRef } from './slot-allocation.ts';
import type { SchedulerState } from './scheduler-state.ts';
import { decideOn, freeSlot, refreshSlotOf, fillSlots } from './decide.ts';
import { giveUpLoss } from './fleet.ts';

/** The history that the next message of the run follows. */
export const historyOf = ({ runs }: SchedulerState, key: RunKey): RunHistory => {
  const known = runs.get(key);
  return known ? { head: known.head, state: known.run } : EMPTY_HISTORY;
};

export const onRunFact = (state: SchedulerState, update: RunUpdate): RunDecision[] => {
  const before = state.runs.get(update.key);
  return update.history.head > (before?.head ?? 0) ? replaceRun(state, update, before) : [];
};

/** Also at the same head, because the known history may have been wrong. */
export const onRunReadAgain = (state: SchedulerState, update: RunUpdate): RunDecision[] => {
  const before = state.runs.get(update.key);
  return update.history.head >= (before?.head ?? 0) ? replaceRun(state, update, before) : [];
};

/** Nothing can be decided on such a run. Its slot becomes free as soon as its executor has stopped it. */
export const onRunUnreadable = (state: SchedulerState, key: RunKey): RunDecision[] => {
  const known = state.runs.get(key);
  if (!known) return [];
  const { run, slot } = known;
  state.runs.remove(known);
  if (slot && isExecuting(run)) keepSlotOf(state, slot, key.run_id, run.attempt.number);
  return freeSlot(state, known, slot);
};

const replaceRun = (
  state: SchedulerState,
  { key, history, event_id, writer }: RunUpdate,
  before: KnownRun | undefined,
): RunDecision[] => {
  const { runs, orphans, requests } = state;
  const slot = before?.slot;
  const after = knownRun(history, event_id, requests, before);
  if (before) orphans.remove(before.name);
  if (before && after) runs.replace(before, after, history.head);
  else if (before) runs.remove(before, history.head);
  else if (after) runs.add(after);
  if (after) countStart(state, before, after);
  if (before) addDuration(state, before, history.state);
  refreshSlotOf(state, after?.slot);
  const decisions: RunDecision[] = [];
  if (before && slot && !isSameSlot(slot, after?.slot)) {
    // Its executor has not confirmed yet that it stopped.
    if (isExecuting(before.run) && writer !== 'executor') {
      keepSlotOf(state, slot, key.run_id, before.run.attempt.number);
    }
    decisions.push(...freeSlot(state, before, slot));
  }
  return after ? [...decisions, ...decideOn(state, after)] : decisions;
};

/** It got a slot that the known history did not have. */
const countStart = (
  { starts }: SchedulerState,
  before: KnownRun | undefined,
  { run, slot, requirements: { org_id } }: KnownRun,
): void => {
  if (!isExecuting(run) || !slot || run.attempt.number === before?.run.attempt?.number) return;
  starts.add({ gpu: slot.gpu, org_id }, timeOf(run.attempt.assigned_at));
};

const keepSlotOf = (
  { fleet, connectedMs }: SchedulerState,
  slot: SlotRef,
  run_id: string,
  attempt: number,
): void => {
  const known = fleet.executors.get(slot.executor)?.slots.get(slot.slot);
  if (known) keepLeftover(fleet, known, { run_id, attempt }, connectedMs);
};

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
