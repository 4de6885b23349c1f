import type {
  PlannedDeployment,
  PlannedExecutor,
  PlannedFault,
  PlannedOrganisation,
  PlannedRun,
  StoredPlan,
} from '../plan/plan.ts';

export interface ShrinkOptions {
  /** Whether the plan still shows the defect. */
  readonly fails: (plan: StoredPlan) => boolean;
  /** How many plans are tried at most. */
  readonly most: number;
}

/**
 * A smaller plan that still fails: fewer faults, runs, executors and schedulers, shorter, without what does not matter. Delta debugging
 * (Zeller and Hildebrandt, 2002), for one list after the other until nothing gets smaller.
 */
export const shrink = (plan: StoredPlan, { fails, most }: ShrinkOptions): StoredPlan => {
  let best = plan;
  const budget = { left: most };
  const accept = (smaller: StoredPlan): boolean => {
    if (budget.left === 0) return false;
    budget.left -= 1;
    if (!fails(smaller)) return false;
    best = smaller;
    return true;
  };
  for (let before: StoredPlan | undefined; before !== best && budget.left > 0;) {
    before = best;
    removeParts(
      () => best.faults,
      (faults) => accept({ ...best, faults }),
    );
    removeParts(
      () => best.runs,
      (runs) => accept({ ...best, runs }),
    );
    while (best.schedulers.length > 1 && accept({ ...best, schedulers: best.schedulers.slice(0, -1) }));
    for (let n = best.executors.length - 1; n >= 0; n -= 1) accept(withoutExecutor(best, n));
    for (const simpler of simplerSettings(best)) accept({ ...best, ...simpler });
    eachOf(
      () => best.organisations,
      simplerOrganisations,
      (organisations) => accept({ ...best, organisations }),
    );
    eachOf(
      () => best.deployments,
      simplerDeployments,
      (deployments) => accept({ ...best, deployments }),
    );
    eachOf(
      () => best.executors,
      simplerExecutors,
      (executors) => accept({ ...best, executors }),
    );
    eachOf(
      () => best.runs,
      simplerRuns,
      (runs) => accept({ ...best, runs: inOrder(runs) }),
    );
    eachOf(
      () => best.faults,
      simplerFaults,
      (faults) => accept({ ...best, faults }),
    );
  }
  return best;
};

/** Removes as much of a list as possible: first halves, then quarters, at last single items. */
const removeParts = <Item>(list: () => readonly Item[], accept: (smaller: Item[]) => boolean): void => {
  for (let size = Math.ceil(list().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < list().length;) {
      const smaller = list().filter((_, at) => at < from || at >= from + size);
      if (!accept(smaller)) from += size;
    }
  }
};

/** Replaces each item by simpler ones, as long as one is accepted. */
const eachOf = <Item>(
  list: () => readonly Item[],
  simpler: (item: Item) => Item[],
  accept: (changed: Item[]) => boolean,
): void => {
  for (let at = 0; at < list().length; at += 1) {
    const next = (): boolean => {
      const item = list()[at];
      if (item === undefined) return false;
      return simpler(item).some((one) => accept(list().map((old, n) => (n === at ? one : old))));
    };
    while (next());
  }
};

const withoutExecutor = (plan: StoredPlan, removed: number): StoredPlan => ({
  ...plan,
  executors: plan.executors.filter((_, n) => n !== removed),
  faults: plan.faults.flatMap((fault) => {
    const [kind, number] = fault.who?.split(' ') ?? [];
    if (kind !== 'executor' || Number(number) < removed) return [fault];
    return Number(number) === removed ? [] : [{ ...fault, who: `executor ${Number(number) - 1}` }];
  }),
});

const simplerSettings = ({ delayMs, schedulers, gateway }: StoredPlan): Partial<StoredPlan>[] => [
  ...(delayMs > 1 ? [{ delayMs: 1 }] : []),
  ...(schedulers.some(({ clockRate }) => clockRate) ? [{ schedulers: schedulers.map(() => ({})) }] : []),
  ...(gateway?.archiveAfterMs === undefined ? [] : [{ gateway: without(gateway, 'archiveAfterMs') }]),
];

/** In this order: what needs another member goes first. */
const OF_DEPLOYMENTS = [
  'weight',
  'concurrency_limit',
  'gpu_fallbacks',
  'labels',
  'warm_wait_s',
  'version',
] as const;
const OF_ORGANISATIONS = ['limit'] as const;
const OF_EXECUTORS = ['clockRate', 'labels'] as const;
const OF_RUNS = [
  'priority',
  'key',
  'crashes',
  'files',
  'cancelAfterMs',
  'delay_s',
  'startAtMs',
  'redeliverAfterMs',
  'notices',
  'webhook',
] as const;

const simplerOrganisations = (organisation: PlannedOrganisation): PlannedOrganisation[] =>
  withoutOneOf(organisation, OF_ORGANISATIONS);

const simplerDeployments = (deployment: PlannedDeployment): PlannedDeployment[] => [
  ...withoutOneOf(deployment, OF_DEPLOYMENTS),
  ...((deployment.gpu_fallbacks?.length ?? 0) > 1
    ? [{ ...deployment, gpu_fallbacks: deployment.gpu_fallbacks?.slice(0, -1) ?? [] }]
    : []),
];

const simplerExecutors = (executor: PlannedExecutor): PlannedExecutor[] => [
  ...(executor.slots.length > 1 ? [{ ...executor, slots: executor.slots.slice(1) }] : []),
  ...withoutOneOf(executor, OF_EXECUTORS),
];

const simplerRuns = (run: PlannedRun): PlannedRun[] => [
  ...withoutOneOf(run, OF_RUNS),
  ...shorter(run, ['loadMs', 'durationMs', 'atMs']),
];

const simplerFaults = (fault: PlannedFault): PlannedFault[] => [
  ...(fault.clockStepMs === undefined ? [] : [without(fault, 'clockStepMs')]),
  ...shorter(fault, ['forMs', 'atMs']),
];

/** One of its times is halved. */
const shorter = <Item extends object, Member extends keyof Item>(
  item: Item,
  members: readonly (Member & { [Key in Member]: Item[Key] extends number ? Key : never }[Member])[],
): Item[] =>
  members.flatMap((member) => {
    const ms = Number(item[member]);
    return ms < 100 ? [] : [{ ...item, [member]: Math.floor(ms / 2) }];
  });

const withoutOneOf = <Item extends object>(item: Item, members: readonly (keyof Item)[]): Item[] =>
  members.flatMap((member) => (item[member] === undefined ? [] : [without(item, member)]));

const without = <Item extends object>(item: Item, member: keyof Item): Item => {
  const { [member]: _, ...rest } = item;
  // Only optional members are named.
  return rest as Item;
};

const inOrder = (runs: readonly PlannedRun[]): PlannedRun[] =>
  runs.toSorted((a, b) => a.atMs - b.atMs || a.id - b.id);
