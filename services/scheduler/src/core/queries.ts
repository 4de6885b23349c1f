import type {
  ExecutorsRequest,
  ExecutorsResponse,
  ShortageRequest,
  ShortageResponse,
} from '@runledger/contracts/requests/executors';
import type { PoolsRequest, PoolsResponse } from '@runledger/contracts/requests/pools';
import type { ReadySlotsRequest, ReadySlotsResponse } from '@runledger/contracts/requests/ready-slots';
import type { Capacity, QueuePosition, WaitReason } from '@runledger/contracts/requests/queue-position';
import { orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { isResponsive } from './heartbeats.ts';
import type { Shortage } from './capability-index.ts';
import { isTaken } from './fleet.ts';
import type { RegisteredExecutor } from './registered-executor.ts';
import type { KnownRun } from './runs/known-run.ts';
import { fitsAnotherAttempt, type SchedulerState } from './scheduler-state.ts';
import { delayedByGpu, poolStates, type GpuCount } from './pool-states.ts';
import { executorStates, fleetCounts, type FleetCounts } from './executor-states.ts';
import { etaOf } from './eta.ts';
import { readySlots } from './ready-slots.ts';

/** What the scheduler knows, for requests and metrics. */
export interface Queries {
  /** Undefined when the run does not wait. */
  queuePosition(key: RunKey): QueuePosition | undefined;
  /** The same, and counts of the executors that can execute the run. */
  waitReason(key: RunKey): WaitReason | undefined;
  /** One page of the executors that are registered, and of the names that are drained. */
  executors(request: ExecutorsRequest): Omit<ExecutorsResponse, 'read_up_to'>;
  /** One page of the GPU models: slots, and who waits for them. */
  pools(request: PoolsRequest): PoolsResponse;
  /** Why no executor that is registered can take such runs; null when one can. */
  shortage(request: ShortageRequest): ShortageResponse['shortage'];
  /** Where versions are to be ready before their runs come. */
  readySlots(request: ReadySlotsRequest): ReadySlotsResponse;
  fleetCounts(): FleetCounts;
  /** Whether runs wait only because the log has no room for another attempt. */
  isShortOfCapacity(): boolean;
  /** Those that wait for a time, and for no slot yet. */
  delayedRuns(): readonly GpuCount[];
  /** Of the executor without a heartbeat for the longest time, in milliseconds of connected time; 0 without executors. */
  longestSilence(): number;
}

export const queriesOn = (state: SchedulerState): Queries => {
  const { fleet, runs, drained, settings } = state;
  const responsive = (executor: RegisteredExecutor): boolean =>
    isResponsive(fleet, executor, { withinMs: settings.heartbeatPeriodMs / 2, now: state.connectedMs });
  return {
    queuePosition: (key) => {
      const known = waitingRun(state, key);
      return known && queuePositionOf(state, known);
    },
    waitReason: (key) => {
      const known = waitingRun(state, key);
      if (!known) return undefined;
      const executors = countsFor(state, known);
      const position = queuePositionOf(state, known);
      return { ...position, ...etaOf(state, known, position), gpu: known.requirements.gpu, executors };
    },
    executors: (request) =>
      executorStates(
        {
          executors: fleet.executors.values(),
          drained,
          isResponsive: responsive,
          runsIn: ({ executor, number }) => runs.inSlot({ executor: executor.id, slot: number }),
        },
        request,
      ),
    pools: (request) => poolStates(state, request),
    shortage: (request) => shortageOf(state, request),
    readySlots: ({ wanted }) => ({ places: readySlots(state, wanted) }),
    delayedRuns: () => delayedByGpu(state),
    fleetCounts: () =>
      fleetCounts({
        executors: fleet.executors.values(),
        isResponsive: responsive,
        isTaken: (slot) => isTaken(fleet, slot),
      }),
    isShortOfCapacity: () => state.capacity.isShort && !fitsAnotherAttempt(state),
    longestSilence: () => {
      const now = state.connectedMs;
      return Math.max(now - (fleet.lastSeen.oldest() ?? now), 0);
    },
  };
};

const shortageOf = (
  { fleet }: SchedulerState,
  { org_id, gpus, ...rest }: ShortageRequest,
): ShortageResponse['shortage'] => {
  const { capabilities } = fleet;
  const required = gpus.map((gpu) => ({ ...rest, org_id: orgId(org_id), gpu, later: [] }));
  const able = required.map((one) => capabilities.executorsFor(one));
  const [preferred] = required;
  if (preferred === undefined || able.some(({ open, draining }) => open.size + draining.size > 0))
    return null;
  if (fleet.executors.size === 0) return 'no_executor';
  const shortage = capabilities.shortageFor(preferred);
  return shortage === 'draining' ? null : shortage;
};

const waitingRun = ({ runs }: SchedulerState, key: RunKey): KnownRun | undefined => {
  const known = runs.get(key);
  return known?.run.status === 'queued' ? known : undefined;
};

const queuePositionOf = (state: SchedulerState, known: KnownRun): QueuePosition => {
  const { fleet, runs } = state;
  const { capabilities } = fleet;
  const isAble = state.runs.requiredNow(known).some((one) => capabilities.ableTo(one).length > 0);
  const capacity = isAble ? capacityNow(state, known) : capabilities.shortageFor(known.requirements);
  return {
    // A run with a decision, or one that may start later only, waits in no queue.
    ahead:
      known.decided || runs.startsLater(known)
        ? 0
        : runs.aheadOf(known, (one) => capabilities.ableTo(one)).ahead,
    capacity: runs.startsLater(known) ? (known.run.attempt ? 'retrying' : 'delayed') : capacity,
  };
};

const capacityNow = (
  state: SchedulerState,
  known: KnownRun,
): Exclude<Capacity, Shortage | 'delayed' | 'retrying'> => {
  if (!fitsAnotherAttempt(state)) return 'storage_full';
  const limit = state.runs.limitFor(known);
  if (limit) return limit;
  const isFree = state.runs.waitsFor(known).some((one) => state.fleet.freeSlots.firstFor(one) !== undefined);
  return isFree && state.runs.holdsOut(known) ? 'warm' : 'busy';
};

/** How many executors can execute the run, and how many slots of its GPU models they have. */
const countsFor = (state: SchedulerState, known: KnownRun): WaitReason['executors'] => {
  const { fleet } = state;
  const required = state.runs.requiredNow(known);
  const models = new Set(required.map(({ gpu }) => gpu));
  const able = required.map((one) => fleet.capabilities.executorsFor(one));
  const open = new Set(able.flatMap((one) => [...one.open]));
  const draining = new Set(able.flatMap((one) => [...one.draining]));
  const slots = [...open].flatMap((executor) =>
    [...executor.slots.values()].filter(({ gpu }) => models.has(gpu)),
  );
  return {
    serving: open.size,
    busy_slots: slots.filter((slot) => isTaken(fleet, slot)).length,
    free_slots: slots.filter((slot) => slot.executor.free.get(slot.gpu)?.has(slot)).length,
    draining: draining.size,
  };
};
