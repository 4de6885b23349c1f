import { type Run, gpuOf, isEnded, isExecuting } from '@runledger/contracts/fold/run';
import { quantile } from '@runledger/testing/measuring';
import { gpuModel } from '@runledger/contracts/gpu';
import {
  canServe,
  requirementsKey,
  requirementsOf,
  type Requirements,
} from '@runledger/scheduler/core/requirements';
import type { PlannedDeployment } from '../plan/plan.ts';
import type { CapturedDay } from './captured-day.ts';
import type { ExecutorLifetime } from './fleet-of-day.ts';

interface DeploymentsOfDay {
  readonly planned: PlannedDeployment[];
  /** The ids, in the same order. */
  readonly ids: readonly string[];
  readonly numberOf: (run: Run) => number;
}

interface Numbered {
  readonly number: number;
  readonly id: string;
  planned: PlannedDeployment;
}

/**
 * The deployments of a day. Runs of one may ask for different slots, because it was changed or their requests say so: each such kind is a
 * deployment of the plan, of the same id, so that they share limits and turns. What counts for all of them is that of the last run.
 */
export const deploymentsOf = (
  runs: readonly Run[],
  { organisations, needs }: { readonly organisations: readonly string[]; readonly needs: Needs },
): DeploymentsOfDay => {
  const numbers = new Map(organisations.map((id, n) => [id, n] as const));
  const versionOf = keptVersions(runs);
  const kinds = new Map<string, Numbered>();
  const first = new Map<string, number>();
  const shared = new Map<string, Pick<PlannedDeployment, 'weight' | 'concurrency_limit'>>();
  const numberOf = new Map<string, number>();
  for (const run of runs) {
    const { deployment_id: id, weight, concurrency_limit } = run.request;
    const asked = slotsAskedFor(run, needs, versionOf);
    const key = JSON.stringify([id, asked]);
    const known = kinds.get(key);
    const number = known?.number ?? kinds.size;
    const of = first.get(id) ?? number;
    first.set(id, of);
    numberOf.set(run.run_id, number);
    shared.set(id, {
      ...(weight !== undefined && { weight }),
      ...(concurrency_limit !== undefined && { concurrency_limit }),
    });
    const planned = {
      organisation: numbers.get(run.org_id) ?? 0,
      ...(of !== number && { of }),
      ...asked,
      ...longest(run, known?.planned),
    };
    kinds.set(key, { number, id, planned });
  }
  const all = [...kinds.values()];
  return {
    planned: all.map(({ id, planned }) => ({ ...planned, ...shared.get(id) })),
    ids: all.map(({ id }) => id),
    numberOf: (run) => numberOf.get(run.run_id) ?? 0,
  };
};

type Asked = Pick<PlannedDeployment, 'gpu' | 'gpu_fallbacks' | 'labels' | 'version' | 'warm_wait_s'>;

const slotsAskedFor = (run: Run, needs: Needs, versionOf: (run: Run) => number | undefined): Asked => {
  const { gpu, gpu_fallbacks, warm_wait_s = 0 } = run.request;
  const [labels, version] = [needs.ofRun(run), versionOf(run)];
  return {
    gpu,
    ...(gpu_fallbacks && {
      gpu_fallbacks: gpu_fallbacks.map((one) => ({ gpu: one.gpu, after_s: one.after_s })),
    }),
    ...(labels.length > 0 && { labels: [...labels] }),
    ...(version !== undefined && { version }),
    ...(warm_wait_s > 0 && { warm_wait_s }),
  };
};

const longest = (
  { request }: Run,
  known: PlannedDeployment | undefined,
): Pick<PlannedDeployment, 'max_attempts' | 'start_deadline_s' | 'run_timeout_s'> => ({
  max_attempts: Math.max(request.max_attempts, known?.max_attempts ?? 0),
  start_deadline_s: Math.max(request.start_deadline_s, known?.start_deadline_s ?? 0),
  run_timeout_s: Math.max(request.run_timeout_s, known?.run_timeout_s ?? 0),
});

/** Numbers of the workflow versions that stayed loaded, as far as the facts show it: a run of them was warm that day. */
const keptVersions = (runs: readonly Run[]): ((run: Run) => number | undefined) => {
  const versions = new Map<string, number>();
  for (const { attempt, earlier_attempts, request } of runs) {
    const { workflow_version_id: version } = request;
    const isWarm = [attempt, ...earlier_attempts].some((one) => one?.placement?.choice === 'warm');
    if (isWarm && !versions.has(version)) versions.set(version, versions.size);
  }
  return ({ request }) => versions.get(request.workflow_version_id);
};

export interface Duration {
  readonly loadMs: number;
  readonly durationMs: number;
}

/** Alike are runs of a deployment on one GPU model. */
const keyOf = (run: Run): string => `${run.request.deployment_id} ${gpuOf(run)}`;

const isWarm = ({ attempt }: Run): boolean => attempt?.placement?.choice === 'warm';

/**
 * How long each run loads and executes. Nobody knows it of one that had not started, was cancelled or had not ended: it is the median of its
 * deployment on that GPU model, and not less than what was seen. A run that was warm would have loaded as long as others of it if it were not.
 */
export const durationsOf = (runs: readonly Run[], toMs: number): ((run: Run) => Duration) => {
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
      const median = (some: readonly Run[], part: keyof Duration): number =>
        quantile(
          some.flatMap((run) => seen(run)?.[part] ?? []),
          0.5,
        );
      const cold = of.filter((run) => !isWarm(run));
      return [key, { loadMs: median(cold, 'loadMs'), durationMs: median(of, 'durationMs') }] as const;
    }),
  );
  return (run) => {
    const own = seen(run);
    const median = medians.get(keyOf(run)) ?? { loadMs: 0, durationMs: 0 };
    const loadMs = own && !isWarm(run) ? own.loadMs : median.loadMs;
    if (own && isEnded(run) && run.status !== 'cancelled') return { loadMs, durationMs: own.durationMs };
    return { loadMs, durationMs: Math.max(own?.durationMs ?? 0, median.durationMs) };
  };
};

/**
 * What runs of a day need of an executor beside its GPU: machine, program and labels. A plan has labels only, so each such need that some
 * executor of the day lacks is a label of the plan, and executors have the labels of what they can execute.
 */
export interface Needs {
  readonly ofRun: (run: Run) => readonly string[];
  readonly servedBy: (executor: ExecutorLifetime) => readonly string[];
  /** Of an executor that can execute everything. */
  readonly all: readonly string[];
}

export const needsOf = ({ runs, fleet }: Pick<CapturedDay, 'runs' | 'fleet'>): Needs => {
  const known = new Map<string, Requirements>();
  const nameOf = (run: Run): string => {
    const requirements = { ...requirementsOf(run), gpu: ANY, later: [] };
    const key = requirementsKey(requirements);
    if (!known.has(key)) known.set(key, requirements);
    return key;
  };
  const names = new Map(runs.map((run) => [run.run_id, nameOf(run)] as const));
  const labels = new Map<string, string>();
  for (const [key, requirements] of known) {
    if (!fleet.executors.every((executor) => serves(executor, requirements)))
      labels.set(key, `need-${labels.size}`);
  }
  const labelOf = (key: string): string[] => {
    const label = labels.get(key);
    return label === undefined ? [] : [label];
  };
  return {
    ofRun: ({ run_id }) => labelOf(names.get(run_id) ?? ''),
    servedBy: (executor) =>
      [...known].flatMap(([key, requirements]) => (serves(executor, requirements) ? labelOf(key) : [])),
    all: [...labels.values()],
  };
};

/** The GPU is another matter: lists of models are played as they are. */
const ANY = gpuModel('ANY');

const serves = ({ capabilities }: ExecutorLifetime, requirements: Requirements): boolean =>
  canServe({ ...capabilities, gpus: new Set([ANY]) }, requirements);
