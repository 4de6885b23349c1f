import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { Eta, NoEta } from '@runledger/contracts/requests/wait-reason';
import { forecast } from '../forecast/forecast.ts';
import { durationOn } from '../forecast/run-durations.ts';
import { timeText } from '../rows/time-text.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';
import { limitLines, poolLine, warmLine } from './forecast-lines.ts';

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
