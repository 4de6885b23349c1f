import type { GpuModel } from '@runledger/contracts/gpu';
import {
  MAX_LISTED_FLOWS,
  type Pool,
  type PooledDeployment,
  type PooledOrganisation,
  type PoolsRequest,
  type PoolsResponse,
} from '@runledger/contracts/requests/pools';
import { isTaken } from './fleet.ts';
import { waitsSince } from '@runledger/contracts/fold/run';
import type { DelayedDeployment } from './runs/delayed-runs.ts';
import type { Deployment, Organisation } from './runs/fair-share.ts';
import type { Flow } from './runs/flow-heap.ts';
import type { KnownRun } from './runs/known-run.ts';
import { canServe, type Capabilities } from './requirements.ts';
import type { SchedulerState } from './scheduler-state.ts';

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
  for (const [model, delayed] of runs.delayed())
    if (org_id === null || delayed.has(org_id)) models.add(model);
  if (org_id === null) {
    for (const { slots } of fleet.executors.values()) for (const slot of slots.values()) models.add(slot.gpu);
  }
  return gpu === null ? [...models] : models.has(gpu) ? [gpu] : [];
};

/** An organisation or a deployment with runs. */
interface Member<Of extends Flow> {
  readonly name: string;
  readonly delayed: number;
  /** Of those that wait for a slot or hold one. */
  readonly flow: Of | undefined;
}

const poolOf = (state: SchedulerState, gpu: GpuModel, org_id: string | null): Pool => {
  const flows = [...(state.runs.pools().get(gpu)?.flows().filter(isOf(org_id)) ?? [])];
  const delayed = state.runs.delayed().get(gpu) ?? NOBODY;
  const ofAsked = org_id === null ? delayed : new Map([[org_id, delayed.get(org_id) ?? NOBODY]]);
  const counted = ofAsked.entries().map(([name, ofOne]) => [name, delayedOf(ofOne)] as const);
  const present = membersOf(flows, new Map(counted));
  return {
    gpu,
    ...slotsOf(state, gpu, org_id === null ? () => true : servesOneOf(flows, ofAsked.values())),
    ...countsOf(state, present, flows.flatMap(deploymentsOf)),
    starts_per_minute: state.starts.perMinute(gpu, org_id, state.nowMs),
    organisations: present.slice(0, MAX_LISTED_FLOWS).map((member) => stateOf(state, gpu, member)),
    more_organisations: Math.max(present.length - MAX_LISTED_FLOWS, 0),
  };
};

export interface GpuCount {
  readonly gpu: GpuModel;
  readonly count: number;
}

export const delayedByGpu = ({ runs }: SchedulerState): GpuCount[] =>
  [...runs.delayed()].map(([gpu, organisations]) => ({
    gpu,
    count: organisations.values().reduce((sum, deployments) => sum + delayedOf(deployments), 0),
  }));

const NOBODY = new Map<string, never>();

const delayedOf = (deployments: ReadonlyMap<string, DelayedDeployment>): number =>
  deployments.values().reduce((sum, { count }) => sum + count, 0);

/** Those with the most waiting runs first. */
const membersOf = <Of extends Flow>(
  flows: readonly Of[],
  delayed: ReadonlyMap<string, number>,
): Member<Of>[] => {
  const byName = new Map<string, Member<Of>>();
  for (const [name, count] of delayed)
    if (count > 0) byName.set(name, { name, delayed: count, flow: undefined });
  for (const flow of flows)
    byName.set(flow.name, { name: flow.name, delayed: delayed.get(flow.name) ?? 0, flow });
  return [...byName.values()].toSorted(mostWaitingFirst);
};

const stateOf = (
  state: SchedulerState,
  gpu: GpuModel,
  { name, delayed, flow }: Member<Organisation>,
): PooledOrganisation => {
  const flows = flow ? deploymentsOf(flow).filter(hasRuns) : [];
  const ofDeployments = state.runs.delayed().get(gpu)?.get(name) ?? NOBODY;
  const counted = ofDeployments.entries().map(([deployment, { count }]) => [deployment, count] as const);
  const present = membersOf(flows, new Map(counted));
  return {
    org_id: name,
    ...countsOf(state, [{ delayed, flow }], flows),
    starts_per_minute: state.starts.perMinute(gpu, name, state.nowMs),
    deployments: present.slice(0, MAX_LISTED_FLOWS).map((member) => deploymentState(state, member)),
    more_deployments: Math.max(present.length - MAX_LISTED_FLOWS, 0),
  };
};

const deploymentState = (state: SchedulerState, member: Member<Deployment>): PooledDeployment => ({
  deployment_id: member.name,
  ...countsOf(state, [member], member.flow ? [member.flow] : []),
});

const countsOf = (
  { runs }: SchedulerState,
  members: readonly Pick<Member<Flow>, 'delayed' | 'flow'>[],
  deployments: readonly Deployment[],
): Pick<Pool, 'waiting' | 'delayed' | 'running' | 'oldest_queued_at'> => ({
  waiting: members.reduce((sum, { flow }) => sum + (flow?.waiting ?? 0), 0),
  delayed: members.reduce((sum, { delayed }) => sum + delayed, 0),
  running: members.reduce((sum, { flow }) => sum + (flow?.slots ?? 0), 0),
  oldest_queued_at: sinceOf(runs.oldestOf(deployments)),
});

const sinceOf = (oldest: KnownRun | undefined): string | null => (oldest ? waitsSince(oldest.run) : null);

/** A tenant learns no more about the fleet than the wait reasons of its runs say. */
const servesOneOf = (
  organisations: readonly Organisation[],
  delayed: Iterable<ReadonlyMap<string, DelayedDeployment>>,
): ((capabilities: Capabilities) => boolean) => {
  const present = [
    ...organisations.flatMap(deploymentsOf),
    ...[...delayed].flatMap((ofOne) => [...ofOne.values()]),
  ];
  return (capabilities) => present.some(({ requirements }) => canServe(capabilities, requirements));
};

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

const mostWaitingFirst = (one: Member<Flow>, other: Member<Flow>): number =>
  (other.flow?.waiting ?? 0) - (one.flow?.waiting ?? 0) ||
  (other.flow?.slots ?? 0) - (one.flow?.slots ?? 0) ||
  other.delayed - one.delayed ||
  (one.name < other.name ? -1 : 1);
