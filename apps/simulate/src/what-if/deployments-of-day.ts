import type { Run } from '@runledger/contracts/fold/run';
import type { PlannedDeployment } from '../plan/plan.ts';
import type { Needs } from './needs-of-day.ts';

export interface DeploymentsOfDay {
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
