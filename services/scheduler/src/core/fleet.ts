import type { ExecutorId } from '@runledger/contracts/ids';
import type { ExecutorState } from '@runledger/contracts/requests/executors';
import type { SlotAllocation } from './slot-allocation.ts';
import { FreeSlots, SlotsByVersion } from './free-slots.ts';
import { CapabilityIndex } from './capability-index.ts';
import {
  acceptsRuns,
  type RegisteredExecutor,
  type Slot,
  registerAgain,
  registeredExecutor,
  type ExecutorFacts,
} from './registered-executor.ts';

/** The registered executors, and indexes of them. Times are connected time, in milliseconds. */
export interface Fleet {
  readonly executors: Map<ExecutorId, RegisteredExecutor>;
  readonly freeSlots: FreeSlots;
  /** From the warmest on: the slots that have a version loaded, and those whose executor has prepared it. */
  readonly warm: readonly [loaded: SlotsByVersion, prepared: SlotsByVersion];
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
  warm: [new SlotsByVersion(), new SlotsByVersion()],
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
  setWarm(fleet, slot, isFree ? 'free' : accepts ? 'busy' : null);
};

const setWarm = ({ warm: [loaded, prepared] }: Fleet, slot: Slot, use: 'free' | 'busy' | null): void => {
  loaded.set(slot, use, slot.loaded === null ? NOTHING : [slot.loaded]);
  prepared.set(slot, use, slot.executor.prepared);
};

const NOTHING: readonly string[] = [];

/** By a run, by an assignment that is being stored, or by a leftover attempt. */
export const isTaken = (
  { allocation }: Fleet,
  { executor, number, leftover }: Pick<Slot, 'executor' | 'number' | 'leftover'>,
): boolean =>
  allocation.isAllocated({ executor: executor.id, slot: number }) ||
  (leftover !== null && leftover.until !== null);

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
  setWarm(fleet, slot, null);
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

/**
 * Since when each executor has sent no heartbeat, in the order of these times: the executor that has been unresponsive
 * for the longest time is first. Times are connected time, in milliseconds.
 */
class LastSeen {
  readonly #seen = new Map<RegisteredExecutor, number>();

  set(executor: RegisteredExecutor, now: number): void {
    this.#seen.delete(executor);
    this.#seen.set(executor, now);
  }

  delete(executor: RegisteredExecutor): void {
    this.#seen.delete(executor);
  }

  get(executor: RegisteredExecutor): number | undefined {
    return this.#seen.get(executor);
  }

  oldest(): number | undefined {
    const [oldest] = this.#seen.values();
    return oldest;
  }

  /** Executors without a heartbeat for the whole period, the longest unresponsive one first. */
  unresponsiveFor(periodMs: number, now: number): RegisteredExecutor[] {
    const unresponsive: RegisteredExecutor[] = [];
    for (const [executor, since] of this.#seen) {
      if (now - since < periodMs) break;
      unresponsive.push(executor);
    }
    return unresponsive;
  }
}

/** Who drained a name, and when. */
export type Drain = NonNullable<ExecutorState['drain']>;

export interface DrainedName {
  readonly name: string;
  /** Of the request, in FLEET. */
  readonly sequence: number;
  readonly drain: Drain;
}

/** Which executor names are drained. Requests may arrive twice or late: of each name the last one in the log counts. */
export class DrainedNames {
  readonly #last = new Map<string, { readonly sequence: number; readonly drain: Drain | null }>();

  /** False when this request, or a later one for the name, is known. */
  isNew(name: string, sequence: number): boolean {
    return sequence > (this.#last.get(name)?.sequence ?? 0);
  }

  /** Without a drain the name is resumed. */
  set(name: string, sequence: number, drain: Drain | null): void {
    this.#last.set(name, { sequence, drain });
  }

  drainOf(name: string): Drain | null {
    return this.#last.get(name)?.drain ?? null;
  }

  *all(): Generator<DrainedName> {
    for (const [name, { sequence, drain }] of this.#last) if (drain) yield { name, sequence, drain };
  }
}
