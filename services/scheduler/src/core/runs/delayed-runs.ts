import type { GpuModel } from '@runledger/contracts/gpu';
import type { Requirements } from '../requirements.ts';

/** The runs of one deployment that wait for a time. */
export interface DelayedDeployment {
  readonly deployment_id: string;
  readonly count: number;
  /** Of the run that was delayed last. */
  readonly requirements: Requirements;
}

interface DelayedRun {
  readonly requirements: Requirements;
  readonly run: { readonly request: { readonly deployment_id: string } };
}

type ByOrganisation = Map<string, Map<string, DelayedDeployment>>;

/** Counts the runs that wait for a time and for no slot yet, by the GPU model that they prefer, by organisation and deployment. */
export class DelayedRuns {
  readonly #counts = new Map<GpuModel, ByOrganisation>();

  add(known: DelayedRun): void {
    this.#change(known, 1);
  }

  remove(known: DelayedRun): void {
    this.#change(known, -1);
  }

  /** By GPU model and organisation. */
  all(): ReadonlyMap<GpuModel, ReadonlyMap<string, ReadonlyMap<string, DelayedDeployment>>> {
    return this.#counts;
  }

  #change({ requirements, run: { request } }: DelayedRun, by: 1 | -1): void {
    const { gpu, org_id } = requirements;
    const { deployment_id } = request;
    const organisations: ByOrganisation = this.#counts.get(gpu) ?? new Map();
    const deployments = organisations.get(org_id) ?? new Map<string, DelayedDeployment>();
    const count = (deployments.get(deployment_id)?.count ?? 0) + by;
    keep(deployments, deployment_id, { deployment_id, count, requirements }, count > 0);
    keep(organisations, org_id, deployments, deployments.size > 0);
    keep(this.#counts, gpu, organisations, organisations.size > 0);
  }
}

const keep = <Key, Value>(map: Map<Key, Value>, key: Key, value: Value, isKept: boolean): void => {
  if (isKept) map.set(key, value);
  else map.delete(key);
};
