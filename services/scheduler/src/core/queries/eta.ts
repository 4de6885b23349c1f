import { isExecuting } from '@runledger/contracts/fold/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { Eta, NoEta } from '@runledger/contracts/requests/wait-reason';
import type { Slot } from '../fleet/registered-executor.ts';
import type { KnownRun } from '../runs/known-run.ts';
import { timeText } from '../rows/time-text.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';
import type { DurationEstimate } from '../forecast/durations.ts';
import { forecast, MAX_SIMULATED_SLOTS, type OccupiedSlot } from '../forecast/forecast.ts';
import { durationOf, durationOn } from '../forecast/run-durations.ts';

type EtaOrWhyNot =
  | { readonly eta: Eta; readonly no_eta: null }
  | { readonly eta: null; readonly no_eta: NoEta };

/** When a waiting run is expected to start. */
export const etaOf = (
  state: SchedulerState,
  known: KnownRun,
  { ahead, capacity }: QueuePosition,
): EtaOrWhyNot => {
  if (state.runs.startsLater(known)) return { eta: null, no_eta: 'not_yet' };
  if (capacity !== 'busy' || state.nowMs === 0) return { eta: null, no_eta: 'not_busy' };
  const { gpu } = known.requirements;
  const slots = slotsFor(state, known);
  if (state.runs.mostSlotsOf(known) < slots.length) return { eta: null, no_eta: 'limit' };
  const estimate = durationOn(state, gpu);
  if (!estimate) return { eta: null, no_eta: 'no_durations' };
  const every = Math.max(slots.length / MAX_SIMULATED_SLOTS, 1);
  const part = slots.filter((_slot, index) => Math.floor(index / every) !== Math.floor((index - 1) / every));
  const occupied = part.map((slot) => occupiedSlot(state, slot, estimate));
  const { own, undecided } = state.runs.aheadOf(known, (one) => state.fleet.capabilities.ableTo(one));
  const { earliest, expected, latest } = forecast({
    ahead,
    ownAhead: Math.min(own, ahead),
    undecided,
    occupied,
    slots: slots.length,
    estimate,
  });
  const at = (seconds: number): string => timeOf(state.nowMs + seconds * 1_000);
  return { eta: { earliest: at(earliest), expected: at(expected), latest: at(latest) }, no_eta: null };
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

const timeOf = (instant: number): string => timeText(Math.trunc(instant));

const occupiedSlot = (state: SchedulerState, slot: Slot, otherwise: DurationEstimate): OccupiedSlot => {
  const [run] = state.runs.inSlot({ executor: slot.executor.id, slot: slot.number });
  if (!run || !isExecuting(run.run)) return { elapsedS: 0, estimate: otherwise };
  const elapsedMs = state.nowMs - state.settings.instantOf(run.run.attempt.assigned_at);
  return { elapsedS: Math.max(elapsedMs, 0) / 1_000, estimate: durationOf(state, run) ?? otherwise };
};
