import type { DurationEstimate } from './durations.ts';

/** Seconds from now: with a probability of 80 % between `earliest` and `latest`, and as likely before as after `expected`. */
export interface Forecast {
  readonly earliest: number;
  readonly expected: number;
  readonly latest: number;
}

/** A run in a slot that the waiting run may get. */
export interface OccupiedSlot {
  readonly elapsedS: number;
  readonly estimate: DurationEstimate;
}

/** Runs that start one after the other as slots become free: those of a GPU model, or as many as a limit allows. */
export interface Line {
  readonly ahead: number;
  /** Those of them that are of its own deployment. */
  readonly ownAhead: number;
  /** How many others have a run that starts just before this one or just after it. */
  readonly undecided: number;
  /** All slots, or a part of them that stands for all; null for one that only waits for a slot of the GPU model. */
  readonly occupied: readonly (OccupiedSlot | null)[];
  readonly slots: number;
  /** Of the runs that start before it. */
  readonly estimate: DurationEstimate;
}

export interface LimitLine extends Line {
  /** How many runs of the GPU model start before the first one of this line. */
  readonly aheadOfFirst: number;
}

/** The run starts when it is its turn in all of these lines. */
export interface Situation {
  /** Of its GPU model; null when a slot is free. */
  readonly pool: Line | null;
  readonly limits: readonly LimitLine[];
}

const SAMPLES = 200;
/** Standard deviations below which a tenth of a normal distribution lies. */
const TENTH = 1.2816;
/** The most slots and runs of one sample: beyond it, what is like the rest is not simulated one by one. */
export const MAX_SIMULATED_SLOTS = 32;
const MAX_SIMULATED_RUNS = 100;

/**
 * When the waiting run gets a slot: in a line that is the end number `ahead + 1` of the slots. Possible futures are simulated: what is left of
 * the present runs, given how long they have run, and how long those ahead take. The numbers are not random: the same situation has the same
 * forecast.
 */
export const forecast = (situation: Situation): Forecast => {
  const draw = uniforms();
  const futures = Array.from({ length: SAMPLES }, () => futureOf(situation, draw));
  const starts = futures.map(({ start }) => start).toSorted((a, b) => a - b);
  const quantile = (part: number): number => starts[Math.floor(part * SAMPLES)] ?? 0;
  const expected = quantile(0.5);
  const line = mostOften(futures.map(({ last }) => last));
  if (!line) return { earliest: expected, expected, latest: expected };
  const spread = spreadOf(line);
  const { deviation, weight } = line.estimate;
  // What is known of the durations is uncertain itself, and that does not even out.
  const unknown = (TENTH * expected * deviation) / Math.sqrt(weight);
  const phases = TENTH * phasesOf(line);
  const within = (value: number): number => Math.hypot((value - expected) * spread, unknown, phases);
  return {
    earliest: Math.max(expected - within(quantile(0.1)), 0),
    expected,
    latest: expected + within(quantile(0.9)),
  };
};

/** One possible future: when the run starts, and in which line its turn came last. */
const futureOf = (
  { pool, limits }: Situation,
  draw: () => number,
): { readonly start: number; readonly last: Line | null } => {
  // The same future of its slots, for each that waits for them.
  const drawAgain = repeated(draw);
  const inPool = (ahead: number): number => (pool ? turnIn({ ...pool, ahead }, 0, drawAgain()) : 0);
  let future = { start: pool ? inPool(pool.ahead) : 0, last: pool };
  for (const limit of limits) {
    const start = turnIn(limit, limit.occupied.includes(null) ? inPool(limit.aheadOfFirst) : 0, draw);
    if (future.last === null || start > future.start) future = { start, last: limit };
  }
  return future;
};

const mostOften = (lines: readonly (Line | null)[]): Line | null => {
  const counts = new Map<Line | null, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
};

/**
 * The ends of many slots vary less, together, than those of the part that was simulated. But a deployment waits for the ends of the slots that
 * are its share, and these vary more than those of all.
 */
const spreadOf = (line: Line): number => {
  const { occupied, slots } = line;
  const { share, alone } = shareOf(line);
  return Math.sqrt((occupied.length / slots) * (1 + (1 / share - 1) * alone));
};

/** In seconds, as a standard deviation: the runs in the slots of its share have begun earlier or later than those in all slots. */
const phasesOf = (line: Line): number => {
  const { share, alone } = shareOf(line);
  // The number of ends until a time, of slots with evenly spread phases, has a variance of 1/6 for each slot.
  return averageOf(line.estimate) * Math.sqrt(((1 - share) * alone) / (6 * line.slots * share));
};

/** Its part of the slots, and how far it is served alone: a share of one slot or less is starts in turn, at the ends of all slots. */
const shareOf = ({ ahead, ownAhead, slots }: Line): { readonly share: number; readonly alone: number } => {
  const share = Math.max((ownAhead + 1) / (ahead + 1), 1 / slots);
  return { share, alone: 1 - 1 / (slots * share) };
};

const averageOf = ({ mean, deviation }: DurationEstimate): number => Math.exp(mean + deviation ** 2 / 2);

/** When the turn of the run comes in one possible future. What is not occupied is so from `freeUntil` on. */
const turnIn = (
  { ahead, undecided, occupied, slots, estimate }: Line,
  freeUntil: number,
  draw: () => number,
): number => {
  const { length: simulated } = occupied;
  // As many ends for each slot as there are in all.
  const passedBy = Math.floor(draw() * (undecided + 1));
  const needed = ((ahead + passedBy + 1) * simulated) / slots;
  const ends = occupied.map((slot) => (slot ? remaining(slot, draw) : freeUntil));
  const { mean, deviation } = estimate;
  const one = (): number => Math.exp(mean + deviation * normalQuantile(draw()));
  const steps = Math.min(Math.max(Math.ceil(needed), 1), MAX_SIMULATED_RUNS);
  let now = 0;
  for (let ended = 0; ended < steps; ended += 1) {
    let next = 0;
    for (let slot = 1; slot < ends.length; slot += 1) if ((ends[slot] ?? 0) < (ends[next] ?? 0)) next = slot;
    now = ends[next] ?? 0;
    ends[next] = now + one();
  }
  const left = needed - steps;
  if (left <= 0) return now;
  const average = averageOf(estimate);
  const spread = average * Math.sqrt(Math.expm1(deviation ** 2));
  return Math.max(
    now,
    now + (left * average + Math.sqrt(left) * spread * normalQuantile(draw())) / simulated,
  );
};

/** What is left of a run, given that it has not ended yet. */
const remaining = ({ elapsedS, estimate: { mean, deviation } }: OccupiedSlot, draw: () => number): number => {
  const passed = elapsedS > 0 ? normalCdf((Math.log(elapsedS) - mean) / deviation) : 0;
  const total = Math.exp(mean + deviation * normalQuantile(passed + (1 - passed) * draw()));
  return Math.max(total - elapsedS, 0);
};

/** Series of the same numbers. */
const repeated = (draw: () => number): (() => () => number) => {
  const drawn: number[] = [];
  return () => {
    let next = 0;
    return () => (drawn[next++] ??= draw());
  };
};

/** Evenly spread numbers between 0 and 1, always the same ones (Lehmer, with the constants of MINSTD). */
const uniforms = (): (() => number) => {
  let state = 20_260_101;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
};

/** The standard normal distribution function, by Abramowitz and Stegun 7.1.26: its error is below 1e-7. */
const normalCdf = (z: number): number => {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const tail = (sum * Math.exp(-x * x)) / 2;
  return z < 0 ? tail : 1 - tail;
};

const A = [
  -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716,
  2.506628277459239,
];
const B = [
  -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1,
];
const C = [
  -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
];
const D = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1];

const polynomial = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);

/** Its inverse, by Acklam: its relative error is below 1.2e-9. */
export const normalQuantile = (probability: number): number => {
  if (probability > 0.5) return -normalQuantile(1 - probability);
  const p = Math.max(probability, 1e-12);
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(p));
    return polynomial(C, q) / polynomial(D, q);
  }
  const q = p - 0.5;
  return (polynomial(A, q * q) * q) / polynomial(B, q * q);
};
