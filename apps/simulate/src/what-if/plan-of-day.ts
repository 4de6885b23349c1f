import type { Run } from '@runledger/contracts/fold/run';
import type { Plan, PlannedRun, PlannedExecutor, PlannedFault } from '../plan/plan.ts';
import type { Names } from '../simulation/play-plan.ts';
import type { CapturedDay } from './captured-day.ts';
import type { Changes } from './changes.ts';
import { deploymentsOf, durationsOf, type Duration, needsOf, type Needs } from './deployments-of-day.ts';
import { executorsOf } from '../plan/ids.ts';
import type { ExecutorLifetime } from './fleet-of-day.ts';

interface DayPlan {
  readonly plan: Plan;
  readonly names: Names;
}

const SEED = 1;

/** What the simulator plays: the runs of the day at their times and for as long as they took, on its executors or on others. */
export const planOfDay = (day: CapturedDay, { weights, limits, gpus }: Changes): DayPlan => {
  const { runs, header } = day;
  const beginMs = Date.parse(header.warm_up_from);
  const organisations = [...new Set(runs.map(({ org_id }) => org_id))];
  const needs = needsOf(day);
  const deployments = deploymentsOf(runs, { organisations, needs });
  const durationOf = durationsOf(runs, Date.parse(header.to));
  return {
    plan: {
      seed: SEED,
      heartbeatPeriodMs: 30_000,
      cancelEnforceMs: 20_000,
      delayMs: 2,
      schedulers: [{}],
      ...plannedFleet(day, { gpus, needs }),
      organisations: organisations.map((id) => {
        const limit = limits.get(id);
        return { weight: weights.get(id) ?? 1, ...(limit !== undefined && { limit }) };
      }),
      deployments: deployments.planned,
      runs: runs
        .map((run, id) => ({
          ...plannedRun(run, durationOf(run)),
          id,
          atMs: arrivalMs(run) - beginMs,
          deployment: deployments.numberOf(run),
        }))
        .toSorted((a, b) => a.atMs - b.atMs),
    },
    names: { organisations, deployments: deployments.ids },
  };
};

/** When it was queued, or the later time at which it asked to enter the queue. */
export const arrivalMs = ({ created_at, request: { start_at, delay_s = 0 } }: Run): number => {
  const createdMs = Date.parse(created_at);
  return start_at === undefined ? createdMs + delay_s * 1_000 : Math.max(createdMs, Date.parse(start_at));
};

const plannedRun = (
  run: Run,
  { loadMs, durationMs }: Duration,
): Omit<PlannedRun, 'id' | 'atMs' | 'deployment'> => {
  const { priority, concurrency_key } = run.request;
  const crashes = run.earlier_attempts.filter(
    ({ error }) => error.kind !== 'executor_lost' && error.kind !== 'executor_left',
  ).length;
  return {
    loadMs,
    durationMs,
    ...(priority !== undefined && { priority }),
    ...(concurrency_key !== undefined && { key: concurrency_key }),
    ...(crashes > 0 && { crashes }),
    ...(run.status === 'cancelled' && {
      cancelAfterMs: Math.max(0, Date.parse(run.ended_at) - arrivalMs(run)),
    }),
  };
};

/** Executors that left stay away until the runs of the day have ended. */
const AFTER_THE_DAY_MS = 3_600_000;

/** The executors of the day with what they can execute, and with others instead of those of some GPU models: these execute everything. */
const plannedFleet = (
  { header, fleet }: CapturedDay,
  { gpus, needs }: { readonly gpus: ReadonlyMap<string, number>; readonly needs: Needs },
): Pick<Plan, 'executors' | 'faults'> => {
  const [beginMs, toMs] = [Date.parse(header.warm_up_from), Date.parse(header.to)];
  const executors: PlannedExecutor[] = [];
  const faults: PlannedFault[] = [];
  const present = fleet.executors.filter(({ toMs: ended }) => ended > beginMs);
  const labelled = (labels: readonly string[]): Pick<PlannedExecutor, 'labels'> =>
    labels.length === 0 ? {} : { labels: [...labels] };
  // A name with other slots than before, or other abilities, is another executor.
  const byName = Map.groupBy(present, (executor) =>
    [executor.name, ...executor.slots, '/', ...needs.servedBy(executor)].join(' '),
  );
  for (const lifetimes of byName.values()) {
    const [first] = lifetimes;
    const slots = (first?.slots ?? []).filter((gpu) => !gpus.has(gpu));
    if (!first || slots.length === 0) continue;
    const who = `executor ${executors.length}`;
    executors.push({ slots: [...slots], ...labelled(needs.servedBy(first)) });
    faults.push(...absences(lifetimes, beginMs, toMs).map((absence) => ({ ...absence, who })));
    for (const { name, fromMs, toMs: resumed } of fleet.drains)
      if (name === first.name && resumed > beginMs) {
        const atMs = Math.max(0, fromMs - beginMs);
        faults.push({ kind: 'drain', who, atMs, forMs: resumed - beginMs - atMs });
      }
  }
  for (const [gpu, slots] of gpus) {
    executors.push(...executorsOf(slots, gpu).map((executor) => ({ ...executor, ...labelled(needs.all) })));
  }
  return { executors, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
};

/** When no process of the executor was there. */
const absences = (
  lifetimes: readonly ExecutorLifetime[],
  beginMs: number,
  toMs: number,
): Pick<PlannedFault, 'kind' | 'atMs' | 'forMs'>[] => {
  const afterMs = toMs + AFTER_THE_DAY_MS;
  const first = lifetimes[0]?.fromMs ?? beginMs;
  const missing = first > beginMs ? [{ kind: 'stop' as const, atMs: 0, forMs: first - beginMs }] : [];
  return [
    ...missing,
    ...lifetimes.flatMap(({ toMs: endedMs, end }, n) => {
      if (end === null) return [];
      const backMs = lifetimes[n + 1]?.fromMs ?? afterMs;
      const kind = end === 'left' ? ('stop' as const) : ('kill' as const);
      return [{ kind, atMs: endedMs - beginMs, forMs: Math.max(0, backMs - endedMs) }];
    }),
  ];
};
