import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { RunName } from './run-name.ts';

/** Names a slot of an executor, whether that executor is known or not. */
export interface SlotRef {
  readonly executor: ExecutorId;
  readonly slot: number;
}

/** A slot that a run holds. */
export interface HeldSlot extends SlotRef {
  readonly gpu: GpuModel;
}

export const isSameSlot = (one: SlotRef | undefined, other: SlotRef | undefined): boolean =>
  one?.executor === other?.executor && one?.slot === other?.slot;

/**
 * Which runs hold which slots. It is kept apart from the fleet, because facts of runs and facts of executors
 * arrive in any order.
 */
export class SlotAllocation {
  readonly #executors = new Map<ExecutorId, Map<number, Set<RunName>>>();

  allocate({ executor, slot }: SlotRef, run: RunName): void {
    const slots = this.#executors.get(executor) ?? new Map<number, Set<RunName>>();
    const runs = slots.get(slot) ?? new Set<RunName>();
    this.#executors.set(executor, slots.set(slot, runs.add(run)));
  }

  release({ executor, slot }: SlotRef, run: RunName): void {
    const slots = this.#executors.get(executor);
    const runs = slots?.get(slot);
    runs?.delete(run);
    if (runs?.size === 0) slots?.delete(slot);
    if (slots?.size === 0) this.#executors.delete(executor);
  }

  isAllocated({ executor, slot }: SlotRef): boolean {
    return this.#executors.get(executor)?.has(slot) ?? false;
  }

  runsIn({ executor, slot }: SlotRef): ReadonlySet<RunName> {
    return this.#executors.get(executor)?.get(slot) ?? new Set<RunName>();
  }

  /** A copy, because decisions on these runs may release them. */
  runsOn(executor: ExecutorId): RunName[] {
    return [...(this.#executors.get(executor)?.values() ?? [])].flatMap((runs) => [...runs]);
  }
}
