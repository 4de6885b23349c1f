import type { ExecutorId } from '@runledger/contracts/ids';
import { refreshExecutor, type Fleet } from './fleet.ts';
import {
  registerAgain,
  registeredExecutor,
  type ExecutorFacts,
  type RegisteredExecutor,
  type Slot,
} from './registered-executor.ts';

/** `drained` says whether its name is drained; it counts for an executor that was not known. */
export const register = (fleet: Fleet, id: ExecutorId, facts: ExecutorFacts, now: number): void => {
  const known = fleet.executors.get(id);
  if (known) {
    fleet.freeSlots.removeExecutor(known);
    for (const slot of known.slots.values()) forgetSlot(fleet, slot);
    registerAgain(known, facts);
    for (const slot of known.slots.values()) if (slot.leftover?.until) fleet.leftover.add(slot);
  }
  const executor = known ?? registeredExecutor(id, facts);
  fleet.executors.set(id, executor);
  if (!executor.lossPending) fleet.lastSeen.set(executor, now);
  refreshExecutor(fleet, executor);
};

export const remove = (fleet: Fleet, id: ExecutorId): RegisteredExecutor | undefined => {
  const executor = fleet.executors.get(id);
  if (!executor) return undefined;
  fleet.freeSlots.removeExecutor(executor);
  fleet.capabilities.remove(executor);
  for (const slot of executor.slots.values()) forgetSlot(fleet, slot);
  fleet.lastSeen.delete(executor);
  fleet.executors.delete(id);
  return executor;
};

const forgetSlot = (fleet: Fleet, slot: Slot): void => {
  fleet.leftover.delete(slot);
  fleet.loaded.set(slot, null);
};

/** The executor announced that it takes no new runs. */
export const drain = (fleet: Fleet, executor: RegisteredExecutor): void => {
  executor.draining = true;
  refreshExecutor(fleet, executor);
};

/** Drains or resumes every executor of this name, and returns them. */
export const setDrained = (fleet: Fleet, name: string, drained: boolean): RegisteredExecutor[] => {
  const named = [...fleet.executors.values()].filter((executor) => executor.name === name);
  for (const executor of named) {
    executor.drained = drained;
    refreshExecutor(fleet, executor);
  }
  return named;
};

/** Until the loss is stored or given up, the executor gets no runs and is not declared lost again. */
export const beginLoss = (fleet: Fleet, executor: RegisteredExecutor): void => {
  executor.lossPending = true;
  fleet.lastSeen.delete(executor);
  refreshExecutor(fleet, executor);
};

export const giveUpLoss = (fleet: Fleet, executor: RegisteredExecutor, now: number): void => {
  executor.lossPending = false;
  fleet.lastSeen.set(executor, now);
  refreshExecutor(fleet, executor);
};
