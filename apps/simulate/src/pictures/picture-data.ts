import type { SlotBar } from '../charts/slot-picture.ts';
import type { TimeSeries } from '../charts/time-picture.ts';
import { slotsOverTime, stepsBetween, waitMs, type PlayedRun } from '../statistics.ts';
import type { ForeseenStart } from './foreseen-starts.ts';
import { MINUTE_MS } from './scenario.ts';

/** What pictures show of the runs of a scenario. */

const minutes = (ms: number): number => Math.round((ms / MINUTE_MS) * 1_000) / 1_000;

type NameOf = (run: PlayedRun) => string;

/** Which run held which slot, in the order of the slots' names. `loadMs`: how long it loaded first, which is shown apart. */
export const barsOf = (
  runs: readonly PlayedRun[],
  nameOf: NameOf,
  loadMs: (run: PlayedRun) => number = () => 0,
): SlotBar[] => {
  const slots = [...new Set(runs.flatMap(({ slot }) => slot ?? []))].toSorted();
  return runs.flatMap((run) => {
    const { assignedMs, endedMs } = run;
    if (run.slot === null || assignedMs === null) return [];
    const slot = slots.indexOf(run.slot);
    const loadedMs = assignedMs + loadMs(run);
    const bar = (fromMs: number, toMs: number, name: string): SlotBar[] =>
      fromMs === toMs ? [] : [{ slot, from: minutes(fromMs), to: minutes(toMs), name }];
    return [...bar(assignedMs, loadedMs, LOADING), ...bar(loadedMs, endedMs, nameOf(run))];
  });
};

/** What a picture names the first minutes of a run. */
export const LOADING = 'loading';

/** What a picture of starts names. */
export const FORESEEN_BARS = ['8 of 10 start within', 'started'] as const;
const MARK_MINUTES = 0.25;

/** A row for each waiting run: the interval that it was told, and a mark where it started. */
export const foreseenBars = (starts: readonly ForeseenStart[]): SlotBar[] =>
  starts.flatMap(({ earliest, latest, started }, slot) => {
    const at = (seconds: number): number => minutes(seconds * 1_000);
    const mark = { from: at(started) - MARK_MINUTES / 2, to: at(started) + MARK_MINUTES / 2 };
    return [
      { slot, from: at(earliest), to: at(latest), name: FORESEEN_BARS[0] },
      { slot, ...mark, name: FORESEEN_BARS[1] },
    ];
  });

/** How many slots each name held on average in each minute. */
export const slotSeries = (
  runs: readonly PlayedRun[],
  untilMinutes: number,
  nameOf: NameOf,
): TimeSeries[] => {
  const steps = stepsBetween(0, untilMinutes * MINUTE_MS, untilMinutes);
  return [...slotsOverTime(runs, steps, nameOf)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, values]) => ({
      name,
      points: Array.from({ length: untilMinutes + 1 }, (_, n) => [n, round(values[n] ?? values[n - 1] ?? 0)]),
    }));
};

/** How long each run waited, by the time at which it was queued. */
export const waitPoints = (runs: readonly PlayedRun[], nameOf: NameOf): TimeSeries[] =>
  [...Map.groupBy(runs, nameOf)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, of]) => ({ name, points: of.map((run) => [minutes(run.queuedMs), minutes(waitMs(run))]) }));

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
