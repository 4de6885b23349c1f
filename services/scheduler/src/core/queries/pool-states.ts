import type { GpuModel } from '@runledger/contracts/gpu';
import {
  MAX_LISTED_FLOWS,
  type Pool,
  type PooledDeployment,
  type PooledOrganisation,
  type PoolsRequest,
  type PoolsResponse,
} from '@runledger/contracts/requests/pools';
import { isTaken } from '../fleet/fleet.ts';
import { waitsSince } from '../runs/deadline.ts';
import type { Deployment, Organisation } from '../runs/fair-queue.ts';
import type { Flow } from '../runs/fair-share.ts';
import type { KnownRun } from '../runs/known-run.ts';
import { canServe, type Capabilities } from '../slots/requirements.ts';
import type { SchedulerState } from '../state/scheduler-state.ts';

/** One page of the pools. It costs something for each deployment and executor, and nothing for each run. */
export const poolStates = (state: SchedulerState, request: PoolsRequest): PoolsResponse => {
  const { after, limit } = request;
  const models = modelsOf(state, request)
    .filter((gpu) => after === null || gpu > after)
    .toSorted();
  return {
    pools: models.slice(0, limit).map((gpu) => poolOf(state, gpu, request.org_id)),
    more: models.length > limit,
  };
};

const modelsOf = ({ runs, fleet }: SchedulerState, { org_id, gpu }: PoolsRequest): GpuModel[] => {
  const models = new Set<GpuModel>();
  for (const [model, pool] of runs.pools()) if (pool.flows().some(isOf(org_id))) models.add(model);
  if (org_id === null) {
    for (const { slots } of fleet.executors.values()) for (const slot of slots.values()) models.add(slot.gpu);
  }
  return gpu === null ? [...models] : models.has(gpu) ? [gpu] : [];
};

const poolOf = (state: SchedulerState, gpu: GpuModel, org_id: string | null): Pool => {
  const present = [...(state.runs.pools().get(gpu)?.flows().filter(isOf(org_id)) ?? [])];
  const organisations = present.toSorted(mostWaitingFirst);
  const asked = org_id === null ? null : (present[0]?.org_id ?? null);
  return {
    gpu,
    ...slotsOf(state, gpu, org_id === null ? () => true : servesOneOf(present)),
    ...countsOf(state, present, present.flatMap(deploymentsOf)),
    starts_per_minute: state.starts.perMinute(gpu, asked, state.nowMs),
    organisations: organisations
      .slice(0, MAX_LISTED_FLOWS)
      .map((organisation) => stateOf(state, gpu, organisation)),
    more_organisations: Math.max(present.length - MAX_LISTED_FLOWS, 0),
  };
};

const stateOf = (state: SchedulerState, gpu: GpuModel, organisation: Organisation): PooledOrganisation => {
  const { org_id } = organisation;
  const present = organisation.deployments.flows().filter(hasRuns).toArray();
  return {
    org_id,
    ...countsOf(state, [organisation], deploymentsOf(organisation)),
    starts_per_minute: state.starts.perMinute(gpu, org_id, state.nowMs),
    deployments: present
      .toSorted(mostWaitingFirst)
      .slice(0, MAX_LISTED_FLOWS)
      .map((deployment) => deploymentState(state, deployment)),
    more_deployments: Math.max(present.length - MAX_LISTED_FLOWS, 0),
  };
};

const deploymentState = (state: SchedulerState, deployment: Deployment): PooledDeployment => ({
  deployment_id: deployment.name,
  ...countsOf(state, [deployment], [deployment]),
});

const countsOf = (
  { runs }: SchedulerState,
  flows: readonly Flow[],
  deployments: readonly Deployment[],
): Pick<Pool, 'waiting' | 'running' | 'oldest_queued_at'> => ({
  waiting: flows.reduce((sum, { waiting }) => sum + waiting, 0),
  running: flows.reduce((sum, { slots }) => sum + slots, 0),
  oldest_queued_at: sinceOf(runs.oldestOf(deployments)),
});

const sinceOf = (oldest: KnownRun | undefined): string | null => (oldest ? waitsSince(oldest.run) : null);

/** A tenant learns no more about the fleet than the wait reasons of its runs say. */
const servesOneOf =
  (organisations: readonly Organisation[]) =>
  (capabilities: Capabilities): boolean =>
    organisations.some(({ deployments }) =>
      deployments.flows().some(({ requirements }) => canServe(capabilities, requirements)),
    );

const slotsOf = (
  { fleet }: SchedulerState,
  gpu: GpuModel,
  isAskedFor: (capabilities: Capabilities) => boolean,
): Pick<Pool, 'slots' | 'busy_slots'> => {
  const counted = { slots: 0, busy_slots: 0 };
  for (const executor of fleet.capabilities.openWith(isAskedFor)) {
    for (const slot of executor.slots.values()) {
      if (slot.gpu !== gpu) continue;
      counted.slots += 1;
      if (isTaken(fleet, slot)) counted.busy_slots += 1;
    }
  }
  return counted;
};

const deploymentsOf = ({ deployments }: Organisation): Deployment[] => [...deployments.flows()];

/** Of one organisation, or of all, and not only remembered because it had runs lately. */
const isOf =
  (org_id: string | null) =>
  (organisation: Organisation): boolean =>
    hasRuns(organisation) && (org_id === null || organisation.org_id === org_id);

const hasRuns = ({ waiting, slots }: Flow): boolean => waiting + slots > 0;

const mostWaitingFirst = (one: Flow, other: Flow): number =>
  other.waiting - one.waiting || other.slots - one.slots || (one.name < other.name ? -1 : 1);
