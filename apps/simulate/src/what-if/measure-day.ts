import {
  fairnessOverTime,
  slotsOverTime,
  stepsBetween,
  type SlotsOverTime,
  type Steps,
  waitMs,
  type PlayedRun,
} from '../statistics.ts';
import { quantile } from '@runledger/testing/measuring';
import type { SliceHeader } from '@runledger/contracts/slices/slice';
import type { PlayedDay } from './played-days.ts';
import type { Waits } from './outcome.ts';

const STEPS = 96;

/** What the table and the charts show of a day. */
export interface MeasuredDay {
  readonly title: string;
  /** Of the captured time, without the warm-up. */
  readonly runs: readonly PlayedRun[];
  readonly waits: ReadonlyMap<string, Waits>;
  readonly steps: Steps;
  readonly slotsByOrganisation: SlotsOverTime;
  readonly slotsByGpu: SlotsOverTime;
  /** By GPU model: the part of its slots that was held; null for a model without slots. */
  readonly utilisation: ReadonlyMap<string, number | null>;
  readonly slots: ReadonlyMap<string, number>;
  readonly fairness: readonly (number | null)[];
  /** Of all steps in which somebody wanted a slot. */
  readonly meanFairness: number | null;
}

export const measureDay = (header: SliceHeader, { title, runs, weights, slots }: PlayedDay): MeasuredDay => {
  const beginMs = Date.parse(header.warm_up_from);
  const [fromMs, toMs] = [Date.parse(header.from) - beginMs, Date.parse(header.to) - beginMs];
  const steps = stepsBetween(fromMs, toMs, STEPS);
  const ofTime = runs.filter(({ queuedMs }) => queuedMs >= fromMs && queuedMs < toMs);
  const slotsByGpu = slotsOverTime(runs, steps, ({ gpu }) => gpu);
  const fairness = fairnessOverTime(runs, steps, (organisation) => weights.get(organisation) ?? 1);
  const known = fairness.filter((index) => index !== null);
  return {
    title,
    runs: ofTime,
    waits: new Map(
      [...Map.groupBy(ofTime, ({ organisation }) => organisation)].map(([name, of]) => [name, waitsOf(of)]),
    ),
    steps,
    slotsByOrganisation: slotsOverTime(runs, steps, ({ organisation }) => organisation),
    slotsByGpu,
    slots,
    utilisation: new Map(
      [...slotsByGpu].map(([gpu, held]) => [gpu, ratio(mean([...held]), slots.get(gpu) ?? 0)]),
    ),
    fairness,
    meanFairness: known.length === 0 ? null : mean(known),
  };
};

export const waitsOf = (runs: readonly PlayedRun[]): Waits => {
  const waits = runs.map(waitMs);
  const part = (of: number): number => quantile(waits, of);
  return { runs: runs.length, p50: part(0.5), p90: part(0.9), p99: part(0.99), max: part(1) };
};

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const ratio = (held: number, slots: number): number | null => (slots === 0 ? null : held / slots);
