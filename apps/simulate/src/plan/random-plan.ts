import { randomFrom, type RandomSource } from '@runledger/testing/random-source';
import type {
  FaultKind,
  PlannedDeployment,
  PlannedFault,
  PlannedRun,
  StoredPlan,
  PlannedExecutor,
} from './plan.ts';

/** Of which kinds faults are, and how often. */
const KINDS: readonly FaultKind[] = [
  'kill',
  'kill',
  'kill',
  'pause',
  'pause',
  'cut',
  'cut',
  'lag',
  'stop',
  'drain',
  'broker_change',
  'broker_down',
  'no_room',
  'full',
];
const GPUS = ['A10G', 'H100'] as const;
/** How long runs are queued and faults are injected. */
const ACTIVE_MS = 60_000;

/** A small plan: tens of runs, a few executors, and faults of all kinds. The same seed gives the same plan. */
export const randomPlan = (seed: number): StoredPlan => {
  const random = randomFrom(seed);
  const [weighted, weightedDeployments] = [random.chance(30), random.chance(30)];
  const organisations = times(random.integer(1, 4), () => ({
    weight: weighted ? random.pick([0.5, 1, 2, 3]) : 1,
    ...(random.chance(15) && { limit: random.integer(1, 3) }),
  }));
  const gpus = random.chance(70) ? GPUS.slice(0, 1) : GPUS;
  const deployments = times(random.integer(1, 2 * organisations.length), (n) =>
    deployment(random, { organisation: n % organisations.length, gpus, isWeighted: weightedDeployments }),
  );
  const executors = times(random.integer(1, 4), () => ({
    slots: times(random.integer(1, 3), () => random.pick(gpus)),
    ...clock(random),
  }));
  const schedulers = times(random.chance(80) ? 2 : 1, () => clock(random));
  const plan = {
    seed,
    heartbeatPeriodMs: 6_000,
    cancelEnforceMs: random.pick([5_000, 20_000]),
    delayMs: random.pick([1, 3, 10]),
    schedulers,
    executors,
    organisations,
    deployments,
    runs: runs(random, deployments),
    faults: faults(random, { schedulers: schedulers.length, executors: executors.length }),
  };
  const all = withGateway(random, withHeldRequests(random, withPlacement(random, plan)), ACTIVE_MS);
  return withNotifier(random, all);
};

/** Decisions of a leader that arrive after the next one has decided, and limits that they could exceed. */
const withHeldRequests = (random: RandomSource, plan: StoredPlan): StoredPlan => {
  if (!random.chance(25)) return plan;
  const held = times(random.integer(1, 3), () => ({
    atMs: random.integer(0, ACTIVE_MS),
    kind: 'hold' as const,
    who: `scheduler ${random.integer(0, plan.schedulers.length - 1)}`,
    forMs: random.integer(3_500, 12_000),
  }));
  const organisations = plan.organisations.map((one) => ({ limit: random.integer(1, 3), ...one }));
  return { ...plan, organisations, faults: [...plan.faults, ...held] };
};

const times = <Item>(count: number, make: (n: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** Most are right. */
const clock = (random: RandomSource): { readonly clockRate?: number } =>
  random.chance(85) ? {} : { clockRate: random.pick([0.8, 0.95, 1.05, 1.25]) };

const deployment = (
  random: RandomSource,
  { organisation, gpus, isWeighted }: { organisation: number; gpus: readonly string[]; isWeighted: boolean },
): PlannedDeployment => ({
  organisation,
  gpu: random.pick(gpus),
  max_attempts: random.integer(1, 3),
  start_deadline_s: random.pick([20, 120, 600]),
  run_timeout_s: random.pick([10, 60]),
  ...(isWeighted && { weight: random.pick([0.5, 1, 3]) }),
  ...(random.chance(30) && { concurrency_limit: random.integer(1, 2) }),
});

const runs = (random: RandomSource, deployments: readonly PlannedDeployment[]): PlannedRun[] => {
  const made = random.chance(25) ? clients(random, deployments) : mixed(random, deployments.length);
  return made.toSorted((a, b) => a.atMs - b.atMs || a.id - b.id);
};

const mixed = (random: RandomSource, deployments: number): PlannedRun[] => {
  const bursts = times(random.integer(1, 3), () => random.fraction() * ACTIVE_MS);
  const longestMs = random.pick([2_000, 8_000, 20_000]);
  return times(random.integer(5, 40), (id) => ({
    id,
    atMs: Math.round(random.chance(50) ? random.pick(bursts) : random.fraction() * ACTIVE_MS),
    deployment: random.integer(0, deployments - 1),
    durationMs: Math.round(random.fraction() ** 2 * longestMs),
    loadMs: random.chance(70) ? 0 : random.integer(0, 3_000),
    ...(random.chance(20) && { priority: random.pick([-1, 1, 100]) }),
    ...(random.chance(20) && { key: random.pick(['a', 'b']) }),
    ...(random.chance(10) && { crashes: random.integer(1, 2) }),
    ...(random.chance(20) && { files: true }),
    ...(random.chance(12) && { cancelAfterMs: random.integer(0, 15_000) }),
  }));
};

/** A burst of one, and clients of the others that queue one run after the other: together more than the slots can take. */
const clients = (random: RandomSource, deployments: readonly PlannedDeployment[]): PlannedRun[] => {
  const durationMs = random.integer(500, 3_000);
  const gapMs = durationMs * (0.5 + random.fraction());
  const burst = random.integer(2, 8);
  return deployments.flatMap((_, deployment) =>
    times(deployment === 0 ? burst : Math.min(Math.floor(30_000 / gapMs), 20), (n) => ({
      id: deployment * 100 + n,
      atMs: 5_000 + Math.round(deployment === 0 ? 0 : n * gapMs + random.fraction() * gapMs),
      deployment,
      durationMs,
      loadMs: 0,
    })),
  );
};

const faults = (
  random: RandomSource,
  { schedulers, executors }: { readonly schedulers: number; readonly executors: number },
): PlannedFault[] => {
  // Several at about the same time find more than one after the other.
  const storms = times(random.integer(1, 2), () => random.integer(0, ACTIVE_MS));
  const isStorm = random.chance(60);
  return times(random.integer(0, 8), () => {
    const kind = random.pick(KINDS);
    const isOfScheduler = kind !== 'drain' && random.chance(50);
    const who = isOfScheduler
      ? `scheduler ${random.integer(0, schedulers - 1)}`
      : `executor ${random.integer(0, executors - 1)}`;
    const isOfBroker = kind.startsWith('broker') || kind === 'no_room' || kind === 'full';
    return {
      atMs: isStorm ? random.pick(storms) + random.integer(0, 5_000) : random.integer(0, ACTIVE_MS),
      kind,
      ...(!isOfBroker && { who }),
      forMs: random.pick([random.integer(50, 3_000), random.integer(3_000, 20_000)]),
      ...(kind === 'broker_change' && random.chance(50) && { clockStepMs: random.integer(-500, 500) }),
    };
  });
};

/** What keeps a gateway behind, the archive from having something, or the log from keeping it. */
const GATEWAY_KINDS: readonly FaultKind[] = [
  'pause',
  'pause',
  'lag',
  'lag',
  'kill',
  'cut',
  'old_views',
  'short_log',
  'archive_down',
  'archive_slow',
  'archive_slow',
];
const OF_GATEWAY: readonly FaultKind[] = ['pause', 'lag', 'kill', 'cut', 'old_views'];
/** Of the log's age: schedulers and executors are not away for as long as it keeps its messages. */
const MOST_OF_OTHERS = 1 / 3;

/** A log that forgets soon, in a quarter of the plans, and a gateway that is often behind it. */
const withGateway = (random: RandomSource, plan: StoredPlan, activeMs: number): StoredPlan => {
  if (!random.chance(25)) return plan;
  const logAgeMs = random.pick([20_000, 30_000, 45_000]);
  const others = plan.faults.map((fault) => ({
    ...fault,
    forMs: Math.min(fault.forMs, MOST_OF_OTHERS * logAgeMs),
  }));
  const faults = Array.from({ length: random.integer(2, 5) }, (): PlannedFault => {
    const kind = random.pick(GATEWAY_KINDS);
    return {
      atMs: random.integer(0, activeMs),
      kind,
      ...(OF_GATEWAY.includes(kind) && { who: 'gateway 0' }),
      forMs: Math.round(random.pick([0.3, 1, 2]) * random.fraction() * logAgeMs),
    };
  });
  return {
    ...plan,
    gateway: {
      logAgeMs,
      ...(random.chance(75) && { archiveAfterMs: random.pick([1_000, 3_000, 10_000]) }),
    },
    faults: [...others, ...faults],
  };
};

const PLACEMENT_GPUS = ['A10G', 'H100', 'L4'] as const;
const VERSION_WITH_CODE = 1;
const LABELS = ['nvlink', 'zone:eu'] as const;

/** Adds what makes runs choosy about slots and times, to half of the plans: lists of GPU models, labels, delays, and waits for warm slots. */
const withPlacement = (random: RandomSource, plan: StoredPlan): StoredPlan => {
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
    slots: executor.slots.map((gpu) => (random.chance(50) ? gpu : random.pick(PLACEMENT_GPUS))),
  })),
  deployments: deployments.map((one) => (random.chance(35) ? one : { ...one, ...list(random, one) })),
});

const list = (random: RandomSource, { gpu }: PlannedDeployment): Pick<PlannedDeployment, 'gpu_fallbacks'> => {
  let after_s = 0;
  const others = PLACEMENT_GPUS.filter((other) => other !== gpu).slice(random.integer(0, 1));
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
    return {
      ...one,
      version,
      ...(version === VERSION_WITH_CODE && { code: true }),
      ...(random.chance(60) && { warm_wait_s: random.pick([2, 10, 60]) }),
    };
  });
  return {
    deployments: warm,
    runs: runs.map((run) => {
      const isKept = warm[run.deployment]?.version !== undefined;
      return isKept && random.chance(60) ? { ...run, loadMs: random.integer(500, 6_000) } : run;
    }),
  };
};

const ANSWERS = [
  'accepted',
  'accepted',
  'server_error',
  'client_error',
  'timed_out',
  'connect_refused',
  'no_dns',
  'interrupted',
  'gone',
] as const;
const NOTIFIER_KINDS = [
  'kill',
  'kill',
  'pause',
  'cut',
  'lag',
  'stop',
  'hold',
  'lose_timers',
  'stall_timers',
] as const;

/** Runs that are notified, in a third of the plans whose log forgets nothing: receivers that answer in any way, and TIMERS that is full, loses or stalls. */
const withNotifier = (random: RandomSource, plan: StoredPlan): StoredPlan => {
  if (plan.gateway || !random.chance(33)) return plan;
  const receivers = times(random.integer(1, 3), () =>
    times(random.integer(0, 6), () => ({
      reason: random.pick(ANSWERS),
      afterMs: random.chance(70) ? random.integer(0, 20) : random.integer(0, 15_000),
    })),
  );
  const faults = times(random.integer(0, 4), (): PlannedFault => {
    const kind = random.pick(NOTIFIER_KINDS);
    return {
      atMs: random.integer(0, ACTIVE_MS),
      kind,
      ...(!kind.endsWith('timers') && { who: 'notifier 0' }),
      forMs: random.integer(50, 20_000),
    };
  });
  return {
    ...plan,
    notifier: {
      maxInFlight: random.pick([1, 4, 100]),
      ...(random.chance(40) && { capacity: random.pick([0, 3]) }),
      receivers,
    },
    runs: plan.runs.map((run) =>
      random.chance(20)
        ? run
        : {
            ...run,
            webhook: random.integer(0, receivers.length - 1),
            ...(random.chance(30) && { notices: true }),
            ...(random.chance(15) && { redeliverAfterMs: random.integer(0, 20_000) }),
          },
    ),
    faults: [...plan.faults, ...faults],
  };
};
