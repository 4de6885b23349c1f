import type { ExecutorState } from '@runledger/contracts/requests/executor-state';
import type { GpuModel } from '@runledger/contracts/gpu';
import { isDraining, type RegisteredExecutor, type Slot } from '../fleet/registered-executor.ts';

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
