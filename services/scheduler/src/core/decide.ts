import { isExecuting, mayHaveAnother, type ExecutingRun } from '@runledger/contracts/fold/run';
import { MAX_CANDIDATES, type Placement } from '@runledger/contracts/events/placement';
import type { Assign, RunDecision, EnforceCancel, GiveUp, Requeue } from './decision.ts';
import { refreshSlot } from './fleet.ts';
import type { RegisteredExecutor, Slot } from './registered-executor.ts';
import { decisionBase, type KnownRun } from './runs/known-run.ts';
import { allRequirements, type Requirements } from './requirements.ts';
import type { SlotRef } from './slot-allocation.ts';
import { fitsAnotherAttempt, type SchedulerState } from './scheduler-state.ts';
import { allAttemptsLost, attemptLost, cancelledWithoutExecutor, type RemovalReason } from './messages.ts';

/** Makes one decision for each head. While it is being stored, nothing else is decided on the run. */
export const decide = <D extends RunDecision>(
  { leading, runs }: SchedulerState,
  known: KnownRun,
  decision: D,
): D[] => {
  if (!leading || known.decided) return [];
  runs.decide(known, decision);
  return [decision];
};

/** Assigns a queued run, and recovers a run without its executor. */
export const decideOn = (state: SchedulerState, known: KnownRun): RunDecision[] => {
  if (!state.leading) return [];
  if (known.run.status !== 'queued') return recoverWithoutExecutor(state, known);
  const decisions: RunDecision[] = [];
  // Others that begin to wait at the same moment may be next for the first slot that it could take.
  for (let decided = fillFor(state, known); decided.length > 0; decided = fillFor(state, known)) {
    decisions.push(...decided);
    if (decided.some(({ key }) => key.run_id === known.key.run_id)) break;
  }
  return decisions;
};

/** Fills an executor's slots that the run could take, with the runs that are next: of the warmest one for its version, else of any. */
const fillFor = (state: SchedulerState, known: KnownRun): Assign[] => {
  const { warm, freeSlots } = state.fleet;
  const required = state.runs.waitsFor(known);
  for (const slots of warm) {
    const decided = fillFirst(state, required, (one) => slots.freeFor(one, versionOf(known)));
    if (decided.length > 0) return decided;
  }
  return fillFirst(state, required, (one) => freeSlots.firstFor(one));
};

const fillFirst = (
  state: SchedulerState,
  required: readonly Requirements[],
  find: (one: Requirements) => Slot | undefined,
): Assign[] => {
  for (const one of required) {
    const decided = fillSlots(state, find(one)?.executor);
    if (decided.length > 0) return decided;
  }
  return [];
};

/** Runs that held out for slots which are not busy any more, or have something else now, take any slot. */
export const decideWithoutWarm = (state: SchedulerState): RunDecision[] => {
  const decisions: RunDecision[] = [];
  for (const version of state.fleet.warm.flatMap((slots) => [...slots.takeVanished()])) {
    for (let before = -1; decisions.length > before;) {
      before = decisions.length;
      for (const known of state.runs.nextHoldingOut(version)) decisions.push(...decideOn(state, known));
    }
  }
  return decisions;
};

/**
 * Assigns to each free slot the next run of its GPU model, of those that the executor can serve. That run may get another slot: a
 * warmer one, or of a model that it prefers.
 */
export const fillSlots = (state: SchedulerState, executor: RegisteredExecutor | undefined): Assign[] => {
  if (!executor || !state.leading) return [];
  const decisions: Assign[] = [];
  for (const slots of executor.free.values()) {
    // No run is next for slots that have these versions loaded, or nothing.
    let unwanted: Set<string | null> | undefined;
    for (const slot of slots) {
      if (unwanted?.has(slot.loaded)) continue;
      decisions.push(...fillSlot(state, slot));
      if (slots.has(slot)) unwanted = (unwanted ?? new Set()).add(slot.loaded);
    }
  }
  return decisions;
};

/**
 * Assigns the slot to the run that is next for it. The free slots that it would rather have are filled before, by it or by the runs that are
 * next for them: these may come before it, and count for the same limits. `before`: slots that wait for this one in the same way.
 */
const fillSlot = (state: SchedulerState, slot: Slot, before: readonly Slot[] = []): Assign[] => {
  const decisions: Assign[] = [];
  for (;;) {
    const { next, warm } = nextFor(state, slot);
    if (!next || !isRoomFor(state)) return decisions;
    const isNew = (one: Slot | undefined): one is Slot => one !== undefined && !before.includes(one);
    const better = isNew(warm) ? warm : preferredSlot(state, next, slot, isNew);
    const first = better ? fillSlot(state, better, [...before, slot]) : [];
    if (first.length === 0) return [...decisions, ...assign(state, next, slot, placement(state, next, slot))];
    decisions.push(...first);
  }
};

/**
 * The next run for the slot. Those that hold out for a busy slot that is warmer leave it to others. `warm`: a free slot with the version
 * of one of them.
 */
const nextFor = (
  { runs, fleet }: SchedulerState,
  slot: Slot,
): { readonly next: KnownRun | undefined; readonly warm: Slot | undefined } => {
  let warm: Slot | undefined;
  const next = runs.firstFor(slot.gpu, slot.executor.capabilities, ({ version, on }) => {
    for (const slots of fleet.warm) {
      if (slots.has(slot, version)) return 'takes';
      if (!on.some((one) => slots.isBusyFor(one, version))) continue;
      const free = on.values().map((one) => slots.freeFor(one, version));
      const another = free.find((one) => one !== undefined);
      warm ??= another;
      return another ? 'has_another' : 'leaves';
    }
    return 'takes';
  });
  return { next, warm };
};

/** A free slot that the run would rather have: a warmer one for its version, else one of a model that it prefers to that of this slot. */
const preferredSlot = (
  { runs, fleet: { freeSlots, warm } }: SchedulerState,
  known: KnownRun,
  slot: Slot,
  isWanted: (one: Slot | undefined) => one is Slot,
): Slot | undefined => {
  const version = versionOf(known);
  const required = runs.waitsFor(known);
  for (const slots of warm) {
    if (slots.has(slot, version)) return undefined;
    for (const one of required) {
      const warmer = slots.freeFor(one, version);
      if (isWanted(warmer)) return warmer;
    }
  }
  for (const one of required) {
    if (one.gpu === slot.gpu) return undefined;
    const preferred = freeSlots.firstFor(one);
    if (isWanted(preferred)) return preferred;
  }
  return undefined;
};

const versionOf = ({ run }: KnownRun): string => run.request.workflow_version_id;

/** Why the run gets this slot now. */
const placement = ({ runs, fleet, nowMs }: SchedulerState, known: KnownRun, slot: Slot): Placement => {
  const required = runs.waitsFor(known);
  let candidates = 0;
  for (const one of required)
    if (candidates < MAX_CANDIDATES) candidates += fleet.freeSlots.countFor(one, MAX_CANDIDATES - candidates);
  const waitedMs = Math.max(nowMs - runs.waitingSince(known), 0);
  const reason: Placement = {
    candidates: Math.max(candidates, 1),
    choice: CHOICES[fleet.warm.findIndex((slots) => slots.has(slot, versionOf(known)))] ?? 'cold',
    waited_s: waitedMs / 1_000,
  };
  if (known.requirements.later.length > 0)
    reason.gpu_index = allRequirements(known.requirements).findIndex((one) => one.gpu === slot.gpu);
  const heldOutSince = runs.heldOutSince(known);
  // The clock may have been set back since then.
  if (heldOutSince !== undefined)
    reason.warm_wait_s = Math.min(Math.max(nowMs - heldOutSince, 0), waitedMs) / 1_000;
  const limit = runs.lastLimitOf(known);
  if (limit) reason.held_back_by = limit;
  return reason;
};

/** In the order of the indexes of warm slots. */
const CHOICES = ['warm', 'prepared'] as const;

/** There may be room again. */
export const fillAllSlots = (state: SchedulerState): Assign[] => {
  if (!state.capacity.isShort || !fitsAnotherAttempt(state)) return [];
  state.capacity.isShort = false;
  return [...state.fleet.executors.values()].flatMap((executor) => fillSlots(state, executor));
};

/** Remembers that a run waits for room. */
const isRoomFor = (state: SchedulerState): boolean => {
  const hasCapacity = fitsAnotherAttempt(state);
  if (!hasCapacity) state.capacity.isShort = true;
  return hasCapacity;
};

/** The run has left the slot. Others may be within their limits now, and fit into slots that were free before. */
export const freeSlot = (
  state: SchedulerState,
  known: KnownRun,
  slot: SlotRef | undefined,
): RunDecision[] => {
  if (!slot) return [];
  const executor = state.fleet.executors.get(slot.executor);
  const freed = executor?.slots.get(slot.slot);
  if (freed) refreshSlot(state.fleet, freed);
  const decisions: RunDecision[] = fillSlots(state, executor);
  for (const next of state.runs.nextAfter(known))
    if (!state.runs.limitFor(next)) decisions.push(...decideOn(state, next));
  return decisions;
};

export const refreshSlotOf = ({ fleet }: SchedulerState, slot: SlotRef | undefined): void => {
  const known = slot && fleet.executors.get(slot.executor)?.slots.get(slot.slot);
  if (known) refreshSlot(fleet, known);
};

/** Recovers the run of an executor that left or is lost. If the executor is unknown, its facts may still arrive. */
export const recoverWithoutExecutor = (state: SchedulerState, known: KnownRun): RunDecision[] => {
  const { run } = known;
  if (!isExecuting(run) || state.fleet.executors.has(run.attempt.executor_id)) return [];
  const reason = state.former.removalReasonOf(run.attempt.executor_id);
  if (reason) return decide(state, known, recovery(known, run, reason));
  state.orphans.add(known.name, state.connectedMs);
  return [];
};

const assign = (state: SchedulerState, known: KnownRun, chosen: Slot, reason: Placement): Assign[] => {
  const { run } = known;
  if (run.status !== 'queued') return [];
  const { executor, number: slot, gpu } = chosen;
  state.capacity.assignments += 1;
  state.runs.allocateSlot(known, { executor: executor.id, slot, gpu });
  refreshSlot(state.fleet, chosen);
  return decide(state, known, {
    ...decisionBase(known),
    run,
    type: 'assign',
    attempt: (run.attempt?.number ?? 0) + 1,
    executor: executor.id,
    executor_public_key: executor.registration.event.public_key,
    slot,
    gpu,
    placement: reason,
  });
};

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
