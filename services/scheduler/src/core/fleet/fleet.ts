import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { WaitReason } from '@runledger/contracts/requests/wait-reason';
import { canServe, type Requirements, type Capabilities } from '../slots/requirements.ts';
import type { SlotAllocation } from '../slots/slot-allocation.ts';
import { OfferedCapabilities, type Shortage } from './offered-capabilities.ts';
import { runIdOf } from '../slots/run-name.ts';
import {
  registerAgain,
  registeredExecutor,
  takesRuns,
  type RegisteredExecutor,
  type Slot,
} from './registered-executor.ts';

/**
 * The executors that have registered, their free slots by GPU model, and since when each has been silent.
 * Times are connected time, in milliseconds.
 */
export class Fleet {
  readonly #executors = new Map<ExecutorId, RegisteredExecutor>();
  /** With a free slot of this model. */
  readonly #free = new Map<GpuModel, Set<RegisteredExecutor>>();
  /** In the order of the last beat: the longest silent one is first. */
  readonly #silentSince = new Map<RegisteredExecutor, number>();
  readonly #lingering = new Set<Slot>();
  readonly #offered = new OfferedCapabilities();
  readonly #occupancy: SlotAllocation;
  readonly #lingerMs: number;

  constructor(occupancy: SlotAllocation, lingerMs: number) {
    this.#occupancy = occupancy;
    this.#lingerMs = lingerMs;
  }

  all(): Iterable<RegisteredExecutor> {
    return this.#executors.values();
  }

  get(id: ExecutorId): RegisteredExecutor | undefined {
    return this.#executors.get(id);
  }

  /** `drained` says whether its name is, and counts for one that was not known. */
  register(
    id: ExecutorId,
    told: Pick<RegisteredExecutor, 'registration' | 'sequence' | 'drained'>,
    now: number,
  ): RegisteredExecutor {
    const known = this.#executors.get(id);
    if (known) {
      this.#takeOffMarket(known);
      for (const slot of known.slots.values()) this.#lingering.delete(slot);
      registerAgain(known, told);
      for (const slot of known.slots.values()) if (slot.lingering?.until) this.#lingering.add(slot);
    }
    const executor = known ?? registeredExecutor(id, told);
    this.#executors.set(id, executor);
    if (!executor.losing) this.#heardAt(executor, now);
    this.refresh(executor);
    return executor;
  }

  remove(id: ExecutorId): RegisteredExecutor | undefined {
    const executor = this.#executors.get(id);
    if (!executor) return undefined;
    this.#takeOffMarket(executor);
    this.#offered.forget(executor);
    for (const slot of executor.slots.values()) this.#lingering.delete(slot);
    this.#silentSince.delete(executor);
    this.#executors.delete(id);
    return executor;
  }

  drain(executor: RegisteredExecutor): void {
    executor.draining = true;
    this.refresh(executor);
  }

  /** Every executor of this name takes new runs again, or none. Gives them. */
  setDrained(name: string, drained: boolean): RegisteredExecutor[] {
    const named = [...this.#executors.values()].filter((executor) => executor.name === name);
    for (const executor of named) {
      executor.drained = drained;
      this.refresh(executor);
    }
    return named;
  }

  /** False when the beat is not new: the last one is told again when the watch begins anew. */
  beat(executor: RegisteredExecutor, heartbeat: Heartbeat, time: string, now: number): boolean {
    if (executor.lastHeartbeat === time) return false;
    executor.lastHeartbeat = time;
    executor.heard = true;
    if (heartbeat.draining) executor.draining = true;
    if (!executor.losing) this.#heardAt(executor, now);
    this.#takeListedRuns(executor, heartbeat, now);
    this.refresh(executor);
    return true;
  }

  /** The silence up to now says nothing. With `forget`, an executor gets no runs before its next beat. */
  resetBeats(now: number, { forget }: { readonly forget: boolean }): void {
    for (const executor of this.#executors.values()) {
      if (!executor.losing) this.#heardAt(executor, now);
      if (forget) {
        executor.heard = false;
        this.refresh(executor);
      }
    }
  }

  /** Whether a beat came since it registered or the connection was taken up again, and less than `withinMs` ago. */
  isHeard(executor: RegisteredExecutor, withinMs: number, now: number): boolean {
    const since = this.#silentSince.get(executor);
    return executor.heard && since !== undefined && now - since < withinMs;
  }

  /** Since when the longest silent one is; undefined when none counts as silent. */
  silentSince(): number | undefined {
    const [first] = this.#silentSince.values();
    return first;
  }

  /** Those that have been silent for a whole period, longest first. */
  silentFor(periodMs: number, now: number): RegisteredExecutor[] {
    const silent: RegisteredExecutor[] = [];
    for (const [executor, since] of this.#silentSince) {
      if (now - since < periodMs) break;
      silent.push(executor);
    }
    return silent;
  }

  /** Until the loss is in the log or given up, it is neither given runs nor declared lost again. */
  beginLoss(executor: RegisteredExecutor): void {
    executor.losing = true;
    this.#silentSince.delete(executor);
    this.refresh(executor);
  }

  giveUpLoss(executor: RegisteredExecutor, now: number): void {
    executor.losing = false;
    this.#heardAt(executor, now);
    this.refresh(executor);
  }

  /** The attempt has ended, but not by its executor's word: the slot is free when the executor stops listing it. */
  linger(
    executor: RegisteredExecutor,
    slotNumber: number,
    run_id: string,
    attempt: number,
    now: number,
  ): void {
    const slot = executor.slots.get(slotNumber);
    if (slot) this.#setLingering(slot, run_id, attempt, now);
  }

  /** Executors with a slot that has lingered long enough. */
  endLingering(now: number): Set<RegisteredExecutor> {
    const freed = new Set<RegisteredExecutor>();
    for (const slot of this.#lingering) {
      if (!slot.lingering || slot.lingering.until === null) continue;
      if (now < slot.lingering.until) continue;
      this.#lingering.delete(slot);
      slot.lingering = { ...slot.lingering, until: null };
      this.refreshSlot(slot);
      freed.add(slot.executor);
    }
    return freed;
  }

  freeSlotFor(demand: Requirements): Slot | undefined {
    for (const executor of this.#free.get(demand.gpu) ?? []) {
      if (!canServe(executor.capabilities, demand)) continue;
      const [slot] = executor.free.get(demand.gpu) ?? [];
      return slot;
    }
    return undefined;
  }

  /** What is offered by the executors that could be given such a run, now or later; each different offer once. */
  offersFor(demand: Requirements): Capabilities[] {
    return this.#offered.offersFor(demand);
  }

  /** Why there is no such offer. */
  shortageFor(demand: Requirements): Shortage {
    return this.#offered.shortageFor(demand);
  }

  /** How many executors could execute such a run, and how it stands with their slots of its GPU model. */
  countsFor(demand: Requirements): WaitReason['executors'] {
    const { open, draining } = this.#offered.ableTo(demand);
    const slots = open.flatMap((executor) => [...executor.slots.values()]);
    return {
      serving: open.length,
      busy_slots: slots.filter((slot) => slot.gpu === demand.gpu && this.isTaken(slot)).length,
      free_slots: open.reduce((sum, { free }) => sum + (free.get(demand.gpu)?.size ?? 0), 0),
      draining: draining.length,
    };
  }

  refresh(executor: RegisteredExecutor): void {
    this.#offered.note(executor);
    for (const slot of executor.slots.values()) this.refreshSlot(slot);
  }

  /** Brings the index of free slots up to date with what is known of this slot. */
  refreshSlot(slot: Slot): void {
    const { executor, gpu } = slot;
    const free = takesRuns(executor) && !this.isTaken(slot);
    const slots = executor.free.get(gpu) ?? new Set<Slot>();
    executor.free.set(gpu, slots);
    const executors = this.#free.get(gpu) ?? new Set<RegisteredExecutor>();
    this.#free.set(gpu, executors);
    if (free) slots.add(slot);
    else slots.delete(slot);
    if (slots.size > 0) executors.add(executor);
    else executors.delete(executor);
  }

  /** By a run, or promised to one. */
  isTaken({ executor, number, lingering }: Slot): boolean {
    const held = this.#occupancy.isHeld({ executor: executor.id, slot: number });
    return held || (lingering !== null && lingering.until !== null);
  }

  #takeListedRuns(executor: RegisteredExecutor, { runs }: Heartbeat, now: number): void {
    const listed = new Map(runs.map((run) => [run.slot, run]));
    for (const slot of executor.slots.values()) {
      const run = listed.get(slot.number);
      const held = this.#occupancy.runsIn({ executor: executor.id, slot: slot.number });
      if (!run || [...held].some((name) => runIdOf(name) === run.run_id)) {
        slot.lingering = null;
        this.#lingering.delete(slot);
      } else if (slot.lingering?.run_id !== run.run_id || slot.lingering.attempt !== run.attempt) {
        this.#setLingering(slot, run.run_id, run.attempt, now);
      }
    }
  }

  #setLingering(slot: Slot, run_id: string, attempt: number, now: number): void {
    slot.lingering = { run_id, attempt, until: now + this.#lingerMs };
    this.#lingering.delete(slot);
    this.#lingering.add(slot);
    this.refreshSlot(slot);
  }

  #heardAt(executor: RegisteredExecutor, now: number): void {
    this.#silentSince.delete(executor);
    this.#silentSince.set(executor, now);
  }

  #takeOffMarket(executor: RegisteredExecutor): void {
    for (const executors of this.#free.values()) executors.delete(executor);
  }
}
