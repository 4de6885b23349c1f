import { waitMs } from '../statistics.ts';
import { quantile } from '@runledger/testing/measuring';
import type { CapturedDay } from './captured-day.ts';
import { waitsOf, type MeasuredDay } from './measure-day.ts';

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
        `${older} runs are left out: they were queued before the slice begins (${header.warm_up_from}). A longer --warm-up of runledger capture has them.`,
      ]
    : []),
  ...gaps.map(
    ({ stream, first_sequence, last_sequence }) =>
      `The log did not hold positions ${first_sequence} to ${last_sequence} of ${stream} any more.`,
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

const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 7_200_000 ? `${(ms / 60_000).toFixed(1)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
};
