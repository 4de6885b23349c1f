import type { RandomSource } from '@runledger/testing/random/random-source';
import type { PlannedDeployment, PlannedExecutor, PlannedRun, StoredPlan } from './plan.ts';

const GPUS = ['A10G', 'H100', 'L4'] as const;
const LABELS = ['nvlink', 'zone:eu'] as const;

/** Adds what makes runs choosy about slots and times, to half of the plans: lists of GPU models, labels, delays, and waits for warm slots. */
export const withPlacement = (random: RandomSource, plan: StoredPlan): StoredPlan => {
  if (random.chance(45)) return plan;
  const kinds = [
    ...(random.chance(45) ? [withLists] : []),
    ...(random.chance(30) ? [withLabels] : []),
    ...(random.chance(30) ? [withDelays] : []),
    ...(random.chance(45) ? [withWarmSlots] : []),
  ];
  return kinds.reduce((changed, add) => ({ ...changed, ...add(random, changed) }), plan);
};

type Add = (random: RandomSource, plan: StoredPlan) => Partial<StoredPlan>;

const withLists: Add = (random, { executors, deployments }) => ({
  executors: executors.map((executor) => ({
    ...executor,
    slots: executor.slots.map((gpu) => (random.chance(50) ? gpu : random.pick(GPUS))),
  })),
  deployments: deployments.map((one) => (random.chance(35) ? one : { ...one, ...list(random, one) })),
});

const list = (random: RandomSource, { gpu }: PlannedDeployment): Pick<PlannedDeployment, 'gpu_fallbacks'> => {
  let after_s = 0;
  const others = GPUS.filter((other) => other !== gpu).slice(random.integer(0, 1));
  return {
    gpu_fallbacks: others.map((other) => {
      after_s += random.pick([0, 0, 2, 8, 30]);
      return { gpu: other, after_s };
    }),
  };
};

const withLabels: Add = (random, { executors, deployments }) => ({
  executors: executors.map((executor): PlannedExecutor => {
    const labels = LABELS.filter(() => random.chance(50));
    return labels.length === 0 ? executor : { ...executor, labels };
  }),
  deployments: deployments.map((one) =>
    random.chance(50) ? one : { ...one, labels: [random.pick(LABELS)] },
  ),
});

const withDelays: Add = (random, { runs }) => ({
  runs: runs.map((run) => ({ ...run, ...delay(random, run) })),
});

const delay = (random: RandomSource, { atMs }: PlannedRun): Pick<PlannedRun, 'delay_s' | 'startAtMs'> => {
  if (random.chance(75)) return {};
  if (random.chance(50)) return { delay_s: random.pick([0.5, 3, 12]) };
  return { startAtMs: Math.max(0, atMs + random.integer(-2_000, 15_000)) };
};

/** Loading takes long then, compared with executing. */
const withWarmSlots: Add = (random, { deployments, runs }) => {
  const warm = deployments.map((one): PlannedDeployment => {
    if (random.chance(30)) return one;
    const version = random.integer(0, 2);
    return { ...one, version, ...(random.chance(60) && { warm_wait_s: random.pick([2, 10, 60]) }) };
  });
  return {
    deployments: warm,
    runs: runs.map((run) => {
      const isKept = warm[run.deployment]?.version !== undefined;
      return isKept && random.chance(60) ? { ...run, loadMs: random.integer(500, 6_000) } : run;
    }),
  };
};
