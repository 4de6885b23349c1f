import type { QueuePosition, Eta, NoEta } from '@runledger/contracts/requests/queue-position';
import { isExecuting } from '@runledger/contracts/fold/run';
import { forecast, MAX_SIMULATED_SLOTS, type LimitLine, type Line, type OccupiedSlot } from './forecast.ts';
import { durationOn, type DurationEstimate, durationOf } from './durations.ts';
import { timeText, timeOf } from './runs/time-text.ts';
import type { KnownRun } from './runs/known-run.ts';
import type { SchedulerState } from './scheduler-state.ts';
import type { Slot } from './registered-executor.ts';
import type { Ahead } from './runs/fair-queue.ts';

type EtaOrWhyNot =
  | { readonly eta: Eta; readonly no_eta: null }
  | { readonly eta: null; readonly no_eta: NoEta };

/** It waits for the ends of other runs. */
const WAITS_FOR_ENDS: ReadonlySet<QueuePosition['capacity']> = new Set([
  'busy',
  'warm',
  'organisation_limit',
  'concurrency_limit',
  'concurrency_key',
]);

/** When a waiting run is expected to start. */
export const etaOf = (state: SchedulerState, known: KnownRun, { capacity }: QueuePosition): EtaOrWhyNot => {
  if (state.runs.startsLater(known)) return { eta: null, no_eta: 'not_yet' };
  if (!WAITS_FOR_ENDS.has(capacity) || state.nowMs === 0) return { eta: null, no_eta: 'not_busy' };
  const estimate = durationOn(state, known.requirements.gpu);
  if (!estimate) return { eta: null, no_eta: 'no_durations' };
  const ahead = state.runs.aheadOf(known, (one) => state.fleet.capabilities.ableTo(one));
  const isFree = state.runs.waitsFor(known).some((one) => state.fleet.freeSlots.firstFor(one) !== undefined);
  const { earliest, expected, latest } = forecast(
    capacity === 'warm'
      ? { pool: warmLine(state, known, { ahead, estimate }), limits: [] }
      : {
          pool: isFree ? null : poolLine(state, known, { ahead, estimate }),
          limits: limitLines(state, known, { ahead, estimate }),
        },
  );
  // Then it takes any slot.
  const lastMs = capacity === 'warm' ? endOfWarmWait(state, known) : Infinity;
  const at = (seconds: number): string =>
    timeText(Math.trunc(Math.min(state.nowMs + seconds * 1_000, lastMs)));
  return { eta: { earliest: at(earliest), expected: at(expected), latest: at(latest) }, no_eta: null };
};

const endOfWarmWait = ({ runs }: SchedulerState, known: KnownRun): number =>
  runs.waitingSince(known) + (known.run.request.warm_wait_s ?? 0) * 1_000;

interface Known {
  readonly ahead: Ahead;
  /** Of all runs of the GPU model. */
  readonly estimate: DurationEstimate;
}

/** In which the run waits for a slot of its GPU model. */
const poolLine = (
  state: SchedulerState,
  known: KnownRun,
  { ahead: { ahead, own, undecided }, estimate }: Known,
): Line => {
  const line = lineOf(state, slotsFor(state, known), estimate);
  return { ...line, ahead, ownAhead: own, undecided };
};

/** In which it waits for a slot that has its version loaded, else prepared, with others of its deployment; null when there is none any more. */
const warmLine = (
  state: SchedulerState,
  known: KnownRun,
  { ahead: { own }, estimate: ofModel }: Known,
): Line | null => {
  const version = known.run.request.workflow_version_id;
  const all = slotsFor(state, known);
  const loaded = all.filter((slot) => slot.loaded === version);
  const slots =
    loaded.length > 0 ? loaded : all.filter(({ executor }) => executor.prepared.includes(version));
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
const limitLines = (state: SchedulerState, known: KnownRun, { ahead, estimate }: Known): LimitLine[] => {
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
