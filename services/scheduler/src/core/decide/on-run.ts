import { timeOf } from '../rows/time-text.ts';
import { addDuration } from '../forecast/run-durations.ts';
import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { RunDecision } from '../decisions/decision.ts';
import { keepLeftover } from '../fleet/heartbeats.ts';
import { knownRun, type KnownRun } from '../runs/known-run.ts';
import type { RunUpdate } from '../state/scheduler-input.ts';
import { isSameSlot, type SlotRef } from '../slots/slot-allocation.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';
import { decideOn, freeSlot, refreshSlotOf } from './decide.ts';

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
