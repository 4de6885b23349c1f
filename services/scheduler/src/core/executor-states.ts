import {
  MAX_LISTED_NAMES,
  type ExecutorsResponse,
  type ExecutorsRequest,
  type ExecutorState,
} from '@runledger/contracts/requests/executors';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { DrainedNames } from './fleet.ts';
import type { KnownRun } from './runs/known-run.ts';
import { isDraining, type RegisteredExecutor, type Slot } from './registered-executor.ts';

export interface KnownExecutors {
  readonly executors: Iterable<RegisteredExecutor>;
  readonly drained: DrainedNames;
  /** Whether it sent a heartbeat recently, and its loss is not pending. */
  readonly isResponsive: (executor: RegisteredExecutor) => boolean;
  readonly runsIn: (slot: Slot) => readonly KnownRun[];
}

interface Row {
  readonly name: string;
  /** Undefined for a drained name without an executor. */
  readonly executor: RegisteredExecutor | undefined;
}

/** One page of the executors and of the drained names, by name and then by id. */
export const executorStates = (
  known: KnownExecutors,
  request: ExecutorsRequest,
): Omit<ExecutorsResponse, 'read_up_to'> => {
  const { after, limit } = request;
  const rows = rowsOf(known, request.name)
    .filter((row) => !after || inOrder(after.name, after.executor_id, row) < 0)
    .toSorted((one, other) => inOrder(one.name, one.executor?.id ?? null, other));
  return {
    executors: rows.slice(0, limit).map((row) => stateOf(known, row)),
    more: rows.length > limit,
  };
};

const rowsOf = ({ executors, drained }: KnownExecutors, only: string | null): Row[] => {
  const rows: Row[] = [];
  const registered = new Set<string>();
  for (const executor of executors) {
    registered.add(executor.name);
    rows.push({ name: executor.name, executor });
  }
  for (const { name } of drained.all()) if (!registered.has(name)) rows.push({ name, executor: undefined });
  return only === null ? rows : rows.filter(({ name }) => name === only);
};

/** Below 0 when this name and id come before the row. */
const inOrder = (name: string, id: string | null, row: Row): number =>
  compare(name, row.name) || compare(id ?? '', row.executor?.id ?? '');

const compare = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1);

const stateOf = (known: KnownExecutors, { name, executor }: Row): ExecutorState => {
  const drain = known.drained.drainOf(name);
  if (!executor) {
    return {
      executor_id: null,
      name,
      state: 'absent',
      drain,
      slots: [],
      machines: [],
      machine_count: 0,
      programs: [],
      program_count: 0,
      labels: [],
      isolation: null,
      isolation_gaps: [],
      limits: null,
      software_version: null,
      registered_at: null,
      last_heartbeat_at: null,
    };
  }
  const { event, time } = executor.registration;
  const responsive = isDraining(executor) ? 'draining' : 'ready';
  return {
    executor_id: executor.id,
    name,
    state: known.isResponsive(executor) ? responsive : 'unresponsive',
    drain,
    slots: [...executor.slots.values()].map((slot) => ({
      slot: slot.number,
      gpu: slot.gpu,
      loaded_workflow_version_id: slot.loaded,
      run: runOf(known.runsIn(slot)),
    })),
    machines: event.machines.slice(0, MAX_LISTED_NAMES),
    machine_count: event.machines.length,
    programs: event.programs.slice(0, MAX_LISTED_NAMES),
    program_count: event.programs.length,
    labels: event.labels ?? [],
    isolation: event.isolation ?? null,
    isolation_gaps: event.isolation_gaps ?? [],
    limits: event.limits ?? null,
    software_version: event.software_version,
    registered_at: time,
    last_heartbeat_at: executor.lastHeartbeat,
  };
};

/** Null while the assignment is still being stored: it is no fact yet. */
const runOf = (runs: readonly KnownRun[]): ExecutorState['slots'][number]['run'] => {
  for (const { key, run } of runs) {
    if (!isExecuting(run)) continue;
    const { number, assigned_at, placement } = run.attempt;
    return { ...key, attempt: number, assigned_at, ...(placement && { placement }) };
  }
  return null;
};

interface SlotCounts {
  readonly gpu: GpuModel;
  readonly slots: number;
  /** With a run, or with an assignment that is being stored. */
  readonly busy: number;
}

/** The registered executors and their slots, in numbers. */
export interface FleetCounts {
  readonly executors: Readonly<Record<Exclude<ExecutorState['state'], 'absent'>, number>>;
  /** Of the models that these executors have. */
  readonly byGpu: readonly SlotCounts[];
}

export interface CountedExecutors {
  readonly executors: Iterable<RegisteredExecutor>;
  readonly isResponsive: (executor: RegisteredExecutor) => boolean;
  readonly isTaken: (slot: Slot) => boolean;
}

export const fleetCounts = ({ executors, isResponsive, isTaken }: CountedExecutors): FleetCounts => {
  const states = { ready: 0, draining: 0, unresponsive: 0 };
  const slots: Slot[] = [];
  for (const executor of executors) {
    const responsive = isDraining(executor) ? 'draining' : 'ready';
    states[isResponsive(executor) ? responsive : 'unresponsive'] += 1;
    slots.push(...executor.slots.values());
  }
  const byGpu = [...Map.groupBy(slots, ({ gpu }) => gpu)].map(([gpu, ofGpu]) => ({
    gpu,
    slots: ofGpu.length,
    busy: ofGpu.filter((slot) => isTaken(slot)).length,
  }));
  return { executors: states, byGpu };
};
