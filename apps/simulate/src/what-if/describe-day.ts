import { duration, percent, table } from '../text.ts';
import { waitMs } from '../statistics.ts';
import { quantile } from '@runledger/testing/measuring';
import type { Changes, FairShareSettings } from './changes.ts';
import type { CapturedDay } from './captured-day.ts';
import { waitsOf, type MeasuredDay } from './measure-day.ts';
import type { Tried, Waits } from './outcome.ts';

const MAX_ORGANISATIONS = 20;

/** What a day was, how well the simulator repeats it, and what the changes would do. */
export const describeDay = (
  day: CapturedDay,
  measured: readonly MeasuredDay[],
  { before, changes }: Tried,
): string[] => [
  ...describeSlice(day, measured[0]),
  ...(changes ? describeChanges(before, changes, measured[0]) : []),
  '',
  ...describeModel(measured),
  '',
  ...waitTable(measured),
  '',
  ...utilisationTable(measured),
  '',
  ...measured.map(
    ({ title, meanFairness }) =>
      `Fairness (Jain's index, 1 is fair) ${title}: ${meanFairness === null ? 'nobody wanted a slot' : meanFairness.toFixed(3)}`,
  ),
];

/** What is in the slice, and what it leaves out. */
export const describeSlice = (
  { header, older, gaps }: CapturedDay,
  recorded: MeasuredDay | undefined,
): string[] => [
  `${recorded?.runs.length ?? 0} runs of ${recorded?.waits.size ?? 0} organisations, queued from ${header.from} to ${header.to}.`,
  ...(header.organisations.length + header.deployments.length + header.runs.length > 0
    ? ['The slice is of some runs only. Those that it leaves out held slots too, which look free here.']
    : []),
  ...(older > 0
    ? [
        `${older} runs are left out: they were queued before the slice begins (${header.lead_in_from}). A longer --lead-in of runledger capture has them.`,
      ]
    : []),
  ...gaps.map(
    ({ stream, first_sequence, last_sequence }) =>
      `The log did not hold positions ${first_sequence} to ${last_sequence} of ${stream} any more.`,
  ),
];

const describeChanges = (
  before: FairShareSettings,
  { weights, limits, gpus }: Changes,
  recorded: MeasuredDay | undefined,
): string[] => [
  ...[...weights].map(
    ([id, weight]) => `Changed: the weight of ${id} from ${before.weights.get(id) ?? 1} to ${weight}.`,
  ),
  ...[...limits].map(
    ([id, limit]) => `Changed: the limit of ${id} from ${before.limits.get(id) ?? 'none'} to ${limit} slots.`,
  ),
  ...[...gpus].map(
    ([gpu, slots]) =>
      `Changed: the slots of ${gpu} from ${(recorded?.slots.get(gpu) ?? 0).toFixed(1)} to ${slots}.`,
  ),
];

/** How close the simulator comes to the day with the settings of the day. */
export const describeModel = ([recorded, simulated]: readonly MeasuredDay[]): string[] => {
  if (!recorded || !simulated) return [];
  const waits = (day: MeasuredDay): Float64Array =>
    Float64Array.from(day.runs.map((run) => waitMs(run))).toSorted();
  const [those, these] = [waits(recorded), waits(simulated)];
  const apart = Array.from(those, (ms, n) => Math.abs(ms - (these[n] ?? ms)));
  const [before, now] = [waitsOf(recorded.runs), waitsOf(simulated.runs)];
  return [
    `The model: with the settings of that day, the simulator's waits in order differ by ${duration(quantile(apart, 0.5))} for half of the runs, ` +
      `and by ${duration(quantile(apart, 0.9))} or less for 9 of 10.`,
    `Half of the runs waited ${duration(before.p50)} or less, simulated ${duration(now.p50)}; 9 of 10 ${duration(before.p90)}, simulated ${duration(now.p90)}.`,
  ];
};

const waitTable = (measured: readonly MeasuredDay[]): string[] => {
  const byRuns = [...(measured[0]?.waits ?? [])].toSorted(
    ([a, one], [b, other]) => other.runs - one.runs || (a < b ? -1 : 1),
  );
  const row = (name: string, title: string, { runs, p50, p90, p99, max }: Waits): string[] => [
    name,
    title,
    String(runs),
    ...[p50, p90, p99, max].map(duration),
  ];
  return [
    ...table([
      ['organisation', '', 'runs', 'wait p50', 'p90', 'p99', 'max'],
      ...measured.map((day, n) => row(n === 0 ? 'all' : '', day.title, waitsOf(day.runs))),
      ...byRuns
        .slice(0, MAX_ORGANISATIONS)
        .flatMap(([name]) =>
          measured.map((day, n) => row(n === 0 ? name : '', day.title, day.waits.get(name) ?? waitsOf([]))),
        ),
    ]),
    ...(byRuns.length > MAX_ORGANISATIONS
      ? [`(and ${byRuns.length - MAX_ORGANISATIONS} more organisations)`]
      : []),
  ];
};

const utilisationTable = (measured: readonly MeasuredDay[]): string[] => {
  const gpus = [...new Set(measured.flatMap(({ slotsByGpu }) => [...slotsByGpu.keys()]))].toSorted();
  return table([
    ['GPU model', '', 'slots', 'used'],
    ...gpus.flatMap((gpu) =>
      measured.map(({ title, slots, utilisation }, n) => {
        const used = utilisation.get(gpu) ?? null;
        return [
          n === 0 ? gpu : '',
          title,
          (slots.get(gpu) ?? 0).toFixed(1),
          used === null ? '' : percent(used),
        ];
      }),
    ),
  ]);
};
