import { randomFrom, type RandomSource } from '@runledger/testing/random-source';
import type { FaultKind, Plan, PlannedDeployment, PlannedFault, PlannedRun } from './plan.ts';

export interface DayOptions {
  readonly seed: number;
  readonly runs: number;
  readonly gpus: number;
  readonly organisations: number;
  readonly faults: number;
}

const DAY_MS = 86_400_000;
const SLOTS_OF_ONE = 8;
const GPU = 'A10G';
/** Of the slots, by all runs of the day together. */
const UTILISATION = 0.75;
/** Durations are log-normal; half of them lie within this factor of the median. */
const SIGMA = 0.8;
/** So much more comes at noon than on average, and so much less at midnight. */
const SWING = 0.5;
/** The day begins with these: each in turn queues a burst for all. */
const GREEDY = 2;
const BURST_PART = 0.02;
const DEPLOYMENTS_OF_ONE = 2;

/** A day of an installation: arrivals that follow the hours, and two greedy organisations that queue bursts. */
export const dayPlan = (options: DayOptions): Plan => {
  const { seed, gpus, organisations } = options;
  const random = randomFrom(seed);
  const executors = Array.from({ length: Math.ceil(gpus / SLOTS_OF_ONE) }, (_, n) => ({
    slots: Array.from({ length: Math.min(SLOTS_OF_ONE, gpus - n * SLOTS_OF_ONE) }, () => GPU),
  }));
  const load = (UTILISATION * gpus) / (organisations * DEPLOYMENTS_OF_ONE);
  const deployments = Array.from({ length: organisations * DEPLOYMENTS_OF_ONE }, (_, n) =>
    deployment(random, Math.floor(n / DEPLOYMENTS_OF_ONE), load),
  );
  return {
    seed,
    heartbeatPeriodMs: 30_000,
    cancelEnforceMs: 20_000,
    delayMs: 2,
    schedulers: [{}, {}],
    executors,
    organisations: Array.from({ length: organisations }, (_, n) => ({
      weight: 1,
      ...(n % 20 === 19 && { limit: Math.ceil((1.5 * gpus) / organisations) }),
    })),
    deployments,
    runs: runsOf(options, random.integer(0, 2 ** 31 - 1)),
    faults: faults(random, options.faults, executors.length),
  };
};

/** `load`: how many slots one holds on average. A limit leaves room for twice that, and those with bursts have none. */
const deployment = (random: RandomSource, organisation: number, load: number): PlannedDeployment => ({
  organisation,
  gpu: GPU,
  max_attempts: 3,
  start_deadline_s: 86_400,
  run_timeout_s: 3_600,
  ...(organisation >= GREEDY &&
    random.chance(5) && { concurrency_limit: Math.ceil(2 * load) + random.integer(0, 9) }),
});

/** Each iteration gives the same runs. */
const runsOf = (options: DayOptions, seed: number): Iterable<PlannedRun> => ({
  [Symbol.iterator]: () => arrivals(options, randomFrom(seed)),
});

function* arrivals({ runs, gpus, organisations }: DayOptions, random: RandomSource): Generator<PlannedRun> {
  const medianMs = (UTILISATION * gpus * DAY_MS) / runs / Math.exp(SIGMA ** 2 / 2);
  const bursts = GREEDY;
  const inBurst = Math.floor((runs * BURST_PART) / bursts);
  const burstAt = Array.from({ length: bursts }, (_, n) => ((n + 1) / (bursts + 1)) * DAY_MS);
  const spread = runs - bursts * inBurst;
  let [atMs, id, burst] = [0, 0, 0];
  const run = (organisation: number): PlannedRun => {
    id += 1;
    return {
      id,
      atMs: Math.round(atMs),
      deployment: organisation * DEPLOYMENTS_OF_ONE + random.integer(0, DEPLOYMENTS_OF_ONE - 1),
      durationMs: Math.round(medianMs * Math.exp(SIGMA * normal(random))),
      loadMs: 0,
      ...(random.chance(2) && { priority: random.integer(-5, 5) }),
      ...(random.chance(2) && { key: `user ${random.integer(0, 9)}` }),
      ...(random.chance(1) && { crashes: 1 }),
      ...(random.chance(1) && { cancelAfterMs: random.integer(0, 120_000) }),
    };
  };
  for (let n = 0; n < spread; n += 1) {
    const rate = (spread / DAY_MS) * (1 + SWING * Math.sin((2 * Math.PI * atMs) / DAY_MS - Math.PI / 2));
    atMs = Math.min(atMs - Math.log(1 - random.fraction()) / rate, DAY_MS);
    for (; burst < bursts && atMs >= (burstAt[burst] ?? Infinity); burst += 1) {
      for (let k = 0; k < inBurst; k += 1) yield run(burst % organisations);
    }
    yield run(random.integer(0, organisations - 1));
  }
}

/** Standard normal, by Box and Muller. */
const normal = (random: RandomSource): number =>
  Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction());

const KINDS: readonly [FaultKind, ...FaultKind[]] = ['kill', 'kill', 'stop', 'pause', 'cut', 'broker_change'];

const faults = (random: RandomSource, count: number, executors: number): PlannedFault[] =>
  Array.from({ length: count }, () => {
    const who = random.chance(10)
      ? `scheduler ${random.integer(0, 1)}`
      : `executor ${random.integer(0, executors - 1)}`;
    const kind = random.pick(KINDS);
    return {
      atMs: random.integer(0, DAY_MS),
      kind,
      ...(kind !== 'broker_change' && { who }),
      forMs: kind === 'broker_change' ? random.integer(500, 5_000) : random.integer(1_000, 300_000),
    };
  });
