import { quantile } from '@runledger/testing/measuring';

/** Less is no demand: the run of a moment. */
const LEAST_DEMAND = 0.01;

interface Share {
  readonly used: number;
  readonly demand: number;
  readonly weight: number;
}

/**
 * Of each step Jain's index of what organisations got, each as a part of what was fair (Jain, Chiu and Hawe, 1984): 1 when all who
 * wanted slots of a GPU model got the same part, 1/n when one of n got all. Fair is max-min: by weight, and nobody's share is more
 * than it wants. Null when nobody wanted a slot.
 */
export const fairnessOverTime = (
  runs: readonly PlayedRun[],
  steps: Steps,
  weightOf: (organisation: string) => number,
): (number | null)[] => {
  const gpus = [...new Set(runs.map(({ gpu }) => gpu))];
  const models = gpus.map((gpu) => {
    const ofModel = runs.filter((run) => run.gpu === gpu);
    const nameOf = ({ organisation }: PlayedRun): string => organisation;
    return {
      used: slotsOverTime(ofModel, steps, nameOf),
      demand: demandOverTime(ofModel, steps, nameOf),
    };
  });
  return Array.from({ length: steps.count }, (_, step) => {
    const parts = models.flatMap(({ used, demand }) =>
      partsOfFair(
        [...demand].map(([name, values]) => ({
          used: used.get(name)?.[step] ?? 0,
          demand: values[step] ?? 0,
          weight: weightOf(name),
        })),
      ),
    );
    return jainIndex(parts);
  });
};

/** Null for no parts. */
export const jainIndex = (parts: readonly number[]): number | null => {
  const sum = parts.reduce((total, part) => total + part, 0);
  const squares = parts.reduce((total, part) => total + part ** 2, 0);
  return squares === 0 ? null : sum ** 2 / (parts.length * squares);
};

const partsOfFair = (shares: readonly Share[]): number[] => {
  const wanting = shares.filter(({ demand }) => demand >= LEAST_DEMAND);
  const fair = maxMin(
    wanting,
    wanting.reduce((sum, { used }) => sum + used, 0),
  );
  return wanting.map(({ used }, n) => used / Math.max(fair[n] ?? 0, LEAST_DEMAND));
};

/** Divides slots by weight; what somebody does not want goes to the others. */
export const maxMin = (shares: readonly Pick<Share, 'demand' | 'weight'>[], slots: number): number[] => {
  const fair = shares.map(() => 0);
  // Those who want least for their weight are served first; the others divide what is left.
  const order = shares
    .map(({ demand, weight }, n) => ({ n, demand, weight }))
    .toSorted((a, b) => a.demand / a.weight - b.demand / b.weight);
  let left = slots;
  let weights = order.reduce((sum, { weight }) => sum + weight, 0);
  for (const { n, demand, weight } of order) {
    const part = Math.min(demand, (left * weight) / weights);
    fair[n] = part;
    left -= part;
    weights -= weight;
  }
  return fair;
};

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
const demandOverTime = (
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

/** A run with its times in milliseconds: as the simulator or the log tells it. */
export interface PlayedRun {
  readonly organisation: string;
  readonly deployment: string;
  readonly gpu: string;
  readonly queuedMs: number;
  /** When its last attempt got its slot; null when it had none. */
  readonly assignedMs: number | null;
  /** Its end, or that of the time that is looked at. */
  readonly endedMs: number;
  /** Of its last attempt. */
  readonly slot: string | null;
}

/** Until it had its slot, or ended without one. */
export const waitMs = ({ queuedMs, assignedMs, endedMs }: PlayedRun): number =>
  (assignedMs ?? endedMs) - queuedMs;
