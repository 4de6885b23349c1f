import { waitMs, type PlayedRun } from './played-run.ts';
import { quantile } from '@runledger/testing/measuring/quantile';

/** Equal parts of a time. */
export interface Steps {
  readonly fromMs: number;
  readonly stepMs: number;
  readonly count: number;
}

export const stepsBetween = (fromMs: number, toMs: number, count: number): Steps => ({
  fromMs,
  stepMs: (toMs - fromMs) / count,
  count,
});

/** By name, of each step: how many runs on average held a slot. */
export type SlotsOverTime = ReadonlyMap<string, Float64Array>;

export const slotsOverTime = (
  runs: Iterable<PlayedRun>,
  steps: Steps,
  nameOf: (run: PlayedRun) => string,
): SlotsOverTime => {
  const slots = new Map<string, Float64Array>();
  for (const run of runs) {
    const values = valuesOf(slots, nameOf(run), steps);
    if (run.assignedMs !== null) addTime(values, steps, run.assignedMs, run.endedMs);
  }
  return slots;
};

/** As `slotsOverTime`: how many runs held a slot or waited for one. */
export const demandOverTime = (
  runs: Iterable<PlayedRun>,
  steps: Steps,
  nameOf: (run: PlayedRun) => string,
): SlotsOverTime => {
  const demand = new Map<string, Float64Array>();
  for (const run of runs) addTime(valuesOf(demand, nameOf(run), steps), steps, run.queuedMs, run.endedMs);
  return demand;
};

/** By organisation, of each step: the wait that a part of the runs which were queued then did not exceed; null without such runs. */
export const waitsOverTime = (
  runs: Iterable<PlayedRun>,
  steps: Steps,
  part: number,
): ReadonlyMap<string, readonly (number | null)[]> => {
  const waits = new Map<string, number[][]>();
  for (const run of runs) {
    const step = Math.floor((run.queuedMs - steps.fromMs) / steps.stepMs);
    if (step < 0 || step >= steps.count) continue;
    const known = waits.get(run.organisation) ?? Array.from({ length: steps.count }, () => []);
    waits.set(run.organisation, known);
    known[step]?.push(waitMs(run));
  }
  return new Map(
    [...waits].map(([name, bySteps]) => [
      name,
      bySteps.map((of) => (of.length === 0 ? null : quantile(of, part))),
    ]),
  );
};

const valuesOf = (all: Map<string, Float64Array>, name: string, { count }: Steps): Float64Array => {
  const known = all.get(name) ?? new Float64Array(count);
  all.set(name, known);
  return known;
};

/** Each step's part of a time, as a fraction of the step. */
const addTime = (
  values: Float64Array,
  { fromMs, stepMs, count }: Steps,
  beginMs: number,
  endMs: number,
): void => {
  const first = Math.max(0, Math.floor((beginMs - fromMs) / stepMs));
  const last = Math.min(count - 1, Math.floor((endMs - fromMs) / stepMs));
  for (let step = first; step <= last; step += 1) {
    const stepBegins = fromMs + step * stepMs;
    const held = Math.min(endMs, stepBegins + stepMs) - Math.max(beginMs, stepBegins);
    values[step] = (values[step] ?? 0) + Math.max(0, held) / stepMs;
  }
};
