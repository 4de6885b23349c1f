import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import { executorsOf } from '../plan/executors-of.ts';
import type { Plan, PlannedDeployment, PlannedExecutor, PlannedFault, PlannedRun } from '../plan/plan.ts';
import type { Names } from '../statistics/play-plan.ts';
import { quantile } from '../statistics/quantile.ts';
import type { CapturedDay } from './captured-day.ts';
import type { FairShareSettings } from './changes.ts';
import type { ExecutorLifetime } from './fleet-of-day.ts';

export interface DayPlan {
  readonly plan: Plan;
  readonly names: Names;
}

interface Tried extends FairShareSettings {
  readonly gpus: ReadonlyMap<string, number>;
}

const SEED = 1;
/** Executors that left stay away until the runs of the day have ended. */
const AFTER_THE_DAY_MS = 3_600_000;

/** What the simulator plays: the runs of the day at their times and for as long as they took, on its executors or on others. */
export const planOfDay = (day: CapturedDay, { weights, limits, gpus }: Tried): DayPlan => {
  const { runs, header } = day;
  const beginMs = Date.parse(header.lead_in_from);
  const organisations = [...new Set(runs.map(({ org_id }) => org_id))];
  const deployments = deploymentsOf(runs, organisations);
  const durationOf = durations(runs, Date.parse(header.to));
  const fleet = plannedFleet(day, gpus);
  return {
    plan: {
      seed: SEED,
      heartbeatPeriodMs: 30_000,
      cancelEnforceMs: 20_000,
      delayMs: 2,
      schedulers: [{}],
      ...fleet,
      organisations: organisations.map((id) => {
        const limit = limits.get(id);
        return { weight: weights.get(id) ?? 1, ...(limit !== undefined && { limit }) };
      }),
      deployments: [...deployments.values()].map(({ planned }) => planned),
      runs: runs
        .map((run, id) => ({
          ...plannedRun(run, durationOf(run)),
          id,
          atMs: arrivalMs(run) - beginMs,
          deployment: deployments.get(keyOf(run))?.number ?? 0,
        }))
        .toSorted((a, b) => a.atMs - b.atMs),
    },
    names: { organisations, deployments: [...deployments.keys()] },
  };
};

/** The model of the slot that it got, else the one that it asked for. */
export const gpuOf = ({ attempt, request }: Run): string => attempt?.gpu ?? request.gpu;

/** When it was queued, or the later time at which it asked to enter the queue. */
export const arrivalMs = ({ created_at, request: { start_at, delay_s = 0 } }: Run): number => {
  const createdMs = Date.parse(created_at);
  return start_at === undefined ? createdMs + delay_s * 1_000 : Math.max(createdMs, Date.parse(start_at));
};

/** A deployment with slots of two models is two for the simulator. */
const keyOf = (run: Run): string => `${run.request.deployment_id} ${gpuOf(run)}`;

interface NumberedDeployment {
  readonly number: number;
  planned: PlannedDeployment;
}

const deploymentsOf = (
  runs: readonly Run[],
  organisations: readonly string[],
): ReadonlyMap<string, NumberedDeployment> => {
  const numbers = new Map(organisations.map((id, n) => [id, n] as const));
  const deployments = new Map<string, NumberedDeployment>();
  for (const run of runs) {
    const { request, org_id } = run;
    const known = deployments.get(keyOf(run));
    const { weight, concurrency_limit } = request;
    const planned = {
      organisation: numbers.get(org_id) ?? 0,
      gpu: gpuOf(run),
      max_attempts: Math.max(request.max_attempts, known?.planned.max_attempts ?? 0),
      start_deadline_s: Math.max(request.start_deadline_s, known?.planned.start_deadline_s ?? 0),
      run_timeout_s: Math.max(request.run_timeout_s, known?.planned.run_timeout_s ?? 0),
      ...(weight !== undefined && { weight }),
      ...(concurrency_limit !== undefined && { concurrency_limit }),
    };
    if (known) known.planned = planned;
    else deployments.set(keyOf(run), { number: deployments.size, planned });
  }
  return deployments;
};

interface Duration {
  readonly loadMs: number;
  readonly durationMs: number;
}

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

/**
 * How long each run loads and executes. Nobody knows it of one that had not started, was cancelled or had not ended: it is the median of its
 * deployment, and not less than what was seen.
 */
const durations = (runs: readonly Run[], toMs: number): ((run: Run) => Duration) => {
  const seen = (run: Run): Duration | undefined => {
    const startedAt = isEnded(run) || (isExecuting(run) && run.status !== 'started') ? run.started_at : null;
    if (startedAt === null || run.attempt === null) return undefined;
    const [assignedMs, startedMs] = [Date.parse(run.attempt.assigned_at), Date.parse(startedAt)];
    const endMs = isEnded(run) ? Date.parse(run.ended_at) : toMs;
    return { loadMs: Math.max(0, startedMs - assignedMs), durationMs: Math.max(0, endMs - startedMs) };
  };
  const whole = runs.filter((run) => isEnded(run) && run.status !== 'cancelled');
  const medians = new Map(
    [...Map.groupBy(whole, keyOf)].map(([key, of]) => {
      const known = of.flatMap((run) => seen(run) ?? []);
      const median = (part: keyof Duration): number =>
        quantile(
          known.map((each) => each[part]),
          0.5,
        );
      return [key, { loadMs: median('loadMs'), durationMs: median('durationMs') }] as const;
    }),
  );
  return (run) => {
    const own = seen(run);
    if (own && isEnded(run) && run.status !== 'cancelled') return own;
    const { loadMs, durationMs } = medians.get(keyOf(run)) ?? { loadMs: 0, durationMs: 0 };
    return { loadMs: own?.loadMs ?? loadMs, durationMs: Math.max(own?.durationMs ?? 0, durationMs) };
  };
};

const plannedFleet = (
  { header, fleet }: CapturedDay,
  gpus: ReadonlyMap<string, number>,
): Pick<Plan, 'executors' | 'faults'> => {
  const [beginMs, toMs] = [Date.parse(header.lead_in_from), Date.parse(header.to)];
  const executors: PlannedExecutor[] = [];
  const faults: PlannedFault[] = [];
  const present = fleet.executors.filter(({ toMs: ended }) => ended > beginMs);
  // A name with other slots than before is another executor.
  const byName = Map.groupBy(present, ({ name, slots }) => `${name} ${slots.join(' ')}`);
  for (const lifetimes of byName.values()) {
    const slots = (lifetimes[0]?.slots ?? []).filter((gpu) => !gpus.has(gpu));
    if (slots.length === 0) continue;
    const who = `executor ${executors.length}`;
    executors.push({ slots: [...slots] });
    faults.push(...absences(lifetimes, beginMs, toMs).map((absence) => ({ ...absence, who })));
    for (const { name, fromMs, toMs: resumed } of fleet.drains)
      if (name === lifetimes[0]?.name && resumed > beginMs) {
        const atMs = Math.max(0, fromMs - beginMs);
        faults.push({ kind: 'drain', who, atMs, forMs: resumed - beginMs - atMs });
      }
  }
  for (const [gpu, slots] of gpus) executors.push(...executorsOf(slots, gpu));
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
