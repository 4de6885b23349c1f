import type { ExecutorId } from '@runledger/contracts/ids';
import type { SlotAllocation } from '../slots/slot-allocation.ts';
import { FreeSlots } from './free-slots.ts';
import { LoadedSlots } from './loaded-slots.ts';
import { LastSeen } from './last-seen.ts';
import { CapabilityIndex } from './capability-index.ts';
import { acceptsRuns, type RegisteredExecutor, type Slot } from './registered-executor.ts';

/** The registered executors, and indexes of them. Times are connected time, in milliseconds. */
export interface Fleet {
  readonly executors: Map<ExecutorId, RegisteredExecutor>;
  readonly freeSlots: FreeSlots;
  readonly loaded: LoadedSlots;
  readonly lastSeen: LastSeen;
  readonly capabilities: CapabilityIndex;
  /** Slots that a leftover attempt blocks. */
  readonly leftover: Set<Slot>;
  readonly allocation: SlotAllocation;
  /** How long an executor may take to stop listing a leftover attempt. */
  readonly leftoverGraceMs: number;
}

export const emptyFleet = (allocation: SlotAllocation, leftoverGraceMs: number): Fleet => ({
  executors: new Map(),
  freeSlots: new FreeSlots(),
  loaded: new LoadedSlots(),
  lastSeen: new LastSeen(),
  capabilities: new CapabilityIndex(),
  leftover: new Set(),
  allocation,
  leftoverGraceMs,
});

/** Updates the indexes after a change of the executor. */
export const refreshExecutor = (fleet: Fleet, executor: RegisteredExecutor): void => {
  fleet.capabilities.update(executor);
  for (const slot of executor.slots.values()) refreshSlot(fleet, slot);
};

/** Updates the indexes of slots after a change of this slot. */
export const refreshSlot = (fleet: Fleet, slot: Slot): void => {
  const accepts = acceptsRuns(slot.executor);
  const isFree = accepts && !isTaken(fleet, slot);
  fleet.freeSlots.set(slot, isFree);
  fleet.loaded.set(slot, isFree ? 'free' : accepts ? 'busy' : null);
};

/** By a run, by an assignment that is being stored, or by a leftover attempt. */
export const isTaken = (
  { allocation }: Fleet,
  { executor, number, leftover }: Pick<Slot, 'executor' | 'number' | 'leftover'>,
): boolean =>
  allocation.isAllocated({ executor: executor.id, slot: number }) ||
  (leftover !== null && leftover.until !== null);
