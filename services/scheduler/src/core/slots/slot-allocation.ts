import type { ExecutorId } from '@runledger/contracts/ids';
import type { RunName } from './run-name.ts';

/** A slot of an executor, whether that executor is known or not. */
export interface SlotRef {
  readonly executor: ExecutorId;
  readonly slot: number;
}

export const isSameSlot = (one: SlotRef | undefined, other: SlotRef | undefined): boolean =>
  one?.executor === other?.executor && one?.slot === other?.slot;

/** Which runs hold which slots. Kept apart from the fleet: facts of runs and of executors arrive in no common order. */
export class SlotAllocation {
  readonly #executors = new Map<ExecutorId, Map<number, Set<RunName>>>();

  hold({ executor, slot }: SlotRef, run: RunName): void {
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

  isHeld({ executor, slot }: SlotRef): boolean {
    return this.#executors.get(executor)?.has(slot) ?? false;
  }

  runsIn({ executor, slot }: SlotRef): ReadonlySet<RunName> {
    return this.#executors.get(executor)?.get(slot) ?? new Set<RunName>();
  }

  /** A copy: what is decided on these runs may release them. */
  runsOn(executor: ExecutorId): RunName[] {
    return [...(this.#executors.get(executor)?.values() ?? [])].flatMap((runs) => [...runs]);
  }
}
