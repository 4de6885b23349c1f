import { MAX_SERIES } from '../charts/picture.ts';
import { drawTimes, type TimePicture, type TimeSeries } from '../charts/time-picture.ts';
import { waitsOverTime, type Steps } from '../statistics.ts';
import type { SliceHeader } from '@runledger/contracts/slices/slice';
import type { MeasuredDay } from './measure-day.ts';
import type { DrawnChart } from './outcome.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The charts of a day: as it was, simulated, and with the changes, side by side. */
export const drawDay = (header: SliceHeader, measured: readonly MeasuredDay[]): DrawnChart[] => {
  const hours = (Date.parse(header.to) - Date.parse(header.from)) / HOUR_MS;
  const time = { unit: 'hours', from: 0, to: round(hours) } as const;
  return chartsOf(shownOrganisations(measured)).map(
    ({ file, axis, max, subtitle = '', seriesOf, ...chart }) => {
      const panels = measured.map((day) => ({ title: day.title, series: seriesOf(day) }));
      const values = { name: axis, max: max ?? niceMax(panels, chart.kind) };
      const since = `Since ${header.from}. ${subtitle}`.trimEnd();
      const svg = drawTimes({ ...chart, subtitle: since, time, values, panels });
      return { file, title: chart.title, svg };
    },
  );
};

interface DayChart extends Pick<TimePicture, 'title' | 'kind'> {
  readonly file: string;
  readonly subtitle?: string;
  /** Of the values. */
  readonly axis: string;
  /** A round number above the highest value when it is left out. */
  readonly max?: number;
  readonly seriesOf: (day: MeasuredDay) => TimeSeries[];
}

const chartsOf = (shown: ReadonlyMap<string, string>): DayChart[] => [
  {
    file: 'waits.svg',
    title: 'Waits by organisation',
    subtitle: '9 of 10 runs that were queued in a step waited no longer.',
    kind: 'lines',
    axis: 'wait (minutes)',
    seriesOf: (day) => waitSeries(day, shown),
  },
  {
    file: 'slots.svg',
    title: 'Slots in use by organisation',
    kind: 'stacked',
    axis: 'slots in use',
    seriesOf: (day) => slotSeries(day, shown),
  },
  {
    file: 'utilisation.svg',
    title: 'Utilisation by GPU model',
    kind: 'lines',
    axis: 'slots in use (%)',
    max: 100,
    seriesOf: utilisationSeries,
  },
  {
    file: 'fairness.svg',
    title: "Fairness (Jain's index)",
    subtitle: '1: all who wanted slots got the same part of their fair share.',
    kind: 'lines',
    axis: 'index',
    max: 1,
    seriesOf: ({ steps, fairness }) => [{ name: 'fairness', points: pointsOf(steps, fairness) }],
  },
];

const OTHERS = 'others';

/** Those who held most, each with a short name. */
const shownOrganisations = (measured: readonly MeasuredDay[]): ReadonlyMap<string, string> => {
  const held = new Map<string, number>();
  for (const { slotsByOrganisation } of measured)
    for (const [name, values] of slotsByOrganisation)
      held.set(name, (held.get(name) ?? 0) + values.reduce((sum, value) => sum + value, 0));
  const all = [...held].toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const most = all.length > MAX_SERIES ? all.slice(0, MAX_SERIES - 1) : all;
  return new Map(most.map(([name]) => [name, `…${name.slice(-8)}`]));
};

const waitSeries = ({ runs, steps }: MeasuredDay, shown: ReadonlyMap<string, string>): TimeSeries[] => {
  const named = runs.map((run) => ({ ...run, organisation: shown.get(run.organisation) ?? OTHERS }));
  const waits = waitsOverTime(named, steps, 0.9);
  return [...shown.values(), OTHERS].flatMap((name) => {
    const values = waits.get(name);
    return values
      ? [
          {
            name,
            points: pointsOf(
              steps,
              values.map((ms) => (ms === null ? null : ms / MINUTE_MS)),
            ),
          },
        ]
      : [];
  });
};

const slotSeries = (
  { slotsByOrganisation, steps }: MeasuredDay,
  shown: ReadonlyMap<string, string>,
): TimeSeries[] => {
  const sums = new Map<string, number[]>();
  for (const [organisation, values] of slotsByOrganisation) {
    const name = shown.get(organisation) ?? OTHERS;
    const before = sums.get(name);
    sums.set(
      name,
      Array.from(values, (value, n) => value + (before?.[n] ?? 0)),
    );
  }
  return [...shown.values(), OTHERS].flatMap((name) => {
    const values = sums.get(name);
    return values ? [{ name, points: pointsOf(steps, values) }] : [];
  });
};

const utilisationSeries = ({ slotsByGpu, slots, steps }: MeasuredDay): TimeSeries[] =>
  [...slotsByGpu]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, values]) => {
      const all = slots.get(name) ?? 0;
      return {
        name,
        points: pointsOf(
          steps,
          Array.from(values, (held) => (all === 0 ? null : (100 * held) / all)),
        ),
      };
    });

/** In hours since the captured time begins. */
const pointsOf = ({ stepMs }: Steps, values: readonly (number | null)[]): [number, number | null][] =>
  values.map((value, n) => [round((n * stepMs) / HOUR_MS), value === null ? null : round(value)]);

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** A round number that is not less than the highest point. */
const niceMax = (panels: TimePicture['panels'], kind: TimePicture['kind']): number => {
  let highest = 0;
  for (const { series } of panels) {
    const at = new Map<number, number>();
    for (const { points } of series)
      for (const [time, value] of points) {
        const sum =
          kind === 'stacked' ? (at.get(time) ?? 0) + (value ?? 0) : Math.max(at.get(time) ?? 0, value ?? 0);
        at.set(time, sum);
        highest = Math.max(highest, sum);
      }
  }
  const unit = 10 ** Math.floor(Math.log10(Math.max(highest, 0.1)));
  return (
    [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10]
      .map((times) => round(times * unit))
      .find((max) => max >= highest) ?? 10 * unit
  );
};
