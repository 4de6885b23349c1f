import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId, OrgId, RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';

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
  /** A list for each slot: as a rule it has one run. */
  readonly #executors = new Map<ExecutorId, Map<number, RunName[]>>();

  allocate({ executor, slot }: SlotRef, run: RunName): void {
    let slots = this.#executors.get(executor);
    if (!slots) this.#executors.set(executor, (slots = new Map()));
    const runs = slots.get(slot);
    if (!runs) slots.set(slot, [run]);
    else if (!runs.includes(run)) runs.push(run);
  }

  release({ executor, slot }: SlotRef, run: RunName): void {
    const slots = this.#executors.get(executor);
    const runs = slots?.get(slot);
    const index = runs?.indexOf(run) ?? -1;
    if (index < 0) return;
    if (runs && runs.length > 1) runs.splice(index, 1);
    else slots?.delete(slot);
    if (slots?.size === 0) this.#executors.delete(executor);
  }

  isAllocated({ executor, slot }: SlotRef): boolean {
    return this.#executors.get(executor)?.has(slot) ?? false;
  }

  runsIn({ executor, slot }: SlotRef): readonly RunName[] {
    return this.#executors.get(executor)?.get(slot) ?? [];
  }

  *all(): Generator<RunName> {
    for (const slots of this.#executors.values()) for (const runs of slots.values()) yield* runs;
  }

  /** A copy, because decisions on these runs may release them. */
  runsOn(executor: ExecutorId): RunName[] {
    return [...(this.#executors.get(executor)?.values() ?? [])].flat();
  }
}

/** A run's key as one text, for maps. */
export type RunName = `${string}/${string}`;

export const runName = ({ org_id, run_id }: RunKey): RunName => `${org_id}/${run_id}`;

export const runIdOf = (name: RunName): RunId => name.slice(name.indexOf('/') + 1) as RunId;

export const keyOfName = (name: RunName): RunKey => ({
  org_id: name.slice(0, name.indexOf('/')) as OrgId,
  run_id: runIdOf(name),
});
