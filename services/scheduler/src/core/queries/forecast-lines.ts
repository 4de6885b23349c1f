import { timeOf } from '../rows/time-text.ts';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { Slot } from '../fleet/registered-executor.ts';
import type { DurationEstimate } from '../forecast/durations.ts';
import { MAX_SIMULATED_SLOTS, type LimitLine, type Line, type OccupiedSlot } from '../forecast/forecast.ts';
import { durationOf } from '../forecast/run-durations.ts';
import type { Ahead } from '../runs/fair-queue.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';

interface Known {
  readonly ahead: Ahead;
  /** Of all runs of the GPU model. */
  readonly estimate: DurationEstimate;
}

/** In which the run waits for a slot of its GPU model. */
export const poolLine = (
  state: SchedulerState,
  known: KnownRun,
  { ahead: { ahead, own, undecided }, estimate }: Known,
): Line => {
  const line = lineOf(state, slotsFor(state, known), estimate);
  return { ...line, ahead, ownAhead: own, undecided };
};

/** In which it waits for a slot that has its version loaded, with others of its deployment; null when there is none any more. */
export const warmLine = (
  state: SchedulerState,
  known: KnownRun,
  { ahead: { own }, estimate: ofModel }: Known,
): Line | null => {
  const version = known.run.request.workflow_version_id;
  const slots = slotsFor(state, known).filter(({ loaded }) => loaded === version);
  if (slots.length === 0) return null;
  const estimate = durationOf(state, known) ?? ofModel;
  return { ...lineOf(state, slots, estimate), ahead: own, ownAhead: own, undecided: 0 };
};

const lineOf = (
  state: SchedulerState,
  slots: readonly Slot[],
  estimate: DurationEstimate,
): Pick<Line, 'occupied' | 'slots' | 'estimate'> => {
  const occupied = partOf(slots, slots.length).map((slot) =>
    occupiedBy(state, slot && runIn(state, slot), estimate),
  );
  return { occupied, slots: slots.length, estimate };
};

/** The slots that it may get, free or not. */
const slotsFor = ({ fleet, runs }: SchedulerState, known: KnownRun): Slot[] =>
  runs
    .requiredNow(known)
    .flatMap((requirements) =>
      [...fleet.capabilities.executorsFor(requirements).open].flatMap((executor) =>
        [...executor.slots.values()].filter(({ gpu }) => gpu === requirements.gpu),
      ),
    );

const runIn = ({ runs }: SchedulerState, { executor, number }: Slot): KnownRun | undefined =>
  runs.inSlot({ executor: executor.id, slot: number })[0];

/** Those in which it waits for its limits: each is a line for the slots that the limit allows, on all GPU models. */
export const limitLines = (
  state: SchedulerState,
  known: KnownRun,
  { ahead, estimate }: Known,
): LimitLine[] => {
  const { org_id } = known.run;
  const limits = limitsOf(state, known, { ahead, estimate }).filter(({ most }) => most < Infinity);
  if (limits.length === 0) return [];
  const holding = state.runs.holding().filter(({ run }) => run.org_id === org_id);
  return limits.map(({ most, isOf, ...line }) => {
    const held = holding.filter(isOf);
    const slots = Math.max(most, held.length);
    return {
      ...line,
      ahead: line.ahead + slots - most,
      // As if its runs were evenly spread among all.
      aheadOfFirst: Math.floor(ahead.ahead / (line.ahead + 1)),
      occupied: partOf(held, slots).map((run) => run && occupiedBy(state, run, line.estimate)),
      slots,
    };
  });
};

interface Limit extends Pick<Line, 'ahead' | 'ownAhead' | 'undecided' | 'estimate'> {
  readonly most: number;
  /** Whether another run of the organisation counts for it. */
  readonly isOf: (other: KnownRun) => boolean;
}

const limitsOf = (state: SchedulerState, known: KnownRun, { ahead, estimate }: Known): Limit[] => {
  const { org_id, request } = known.run;
  const { own, ofKey, ofOrganisation } = ahead;
  const ofRunsLikeIt = durationOf(state, known) ?? estimate;
  const isOwn = ({ run }: KnownRun): boolean => run.request.deployment_id === request.deployment_id;
  const hasKey = ({ run }: KnownRun): boolean => run.request.concurrency_key === request.concurrency_key;
  return [
    {
      most: request.concurrency_key === undefined ? Infinity : 1,
      isOf: (other) => isOwn(other) && hasKey(other),
      ahead: ofKey,
      ownAhead: ofKey,
      undecided: 0,
      estimate: ofRunsLikeIt,
    },
    {
      most: request.concurrency_limit ?? Infinity,
      isOf: isOwn,
      ahead: own,
      ownAhead: own,
      undecided: 0,
      estimate: ofRunsLikeIt,
    },
    {
      most: state.settings.shareOf(org_id).limit,
      isOf: () => true,
      ...ofOrganisation,
      ownAhead: own,
      estimate,
    },
  ];
};

/** So many of `total` places, evenly spread, that their possible futures are simulated one by one; null for one beyond the items. */
const partOf = <Item>(items: readonly Item[], total: number): (Item | null)[] => {
  const count = Math.min(total, MAX_SIMULATED_SLOTS);
  return Array.from({ length: count }, (_, index) => items[Math.floor((index * total) / count)] ?? null);
};

const occupiedBy = (
  state: SchedulerState,
  known: KnownRun | null | undefined,
  otherwise: DurationEstimate,
): OccupiedSlot => {
  if (!known || !isExecuting(known.run)) return { elapsedS: 0, estimate: otherwise };
  const elapsedMs = state.nowMs - timeOf(known.run.attempt.assigned_at);
  return { elapsedS: Math.max(elapsedMs, 0) / 1_000, estimate: durationOf(state, known) ?? otherwise };
};
