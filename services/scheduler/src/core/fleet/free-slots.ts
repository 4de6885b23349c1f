import type { GpuModel } from '@runledger/contracts/gpu';
import { canServe, type Requirements } from '../slots/requirements.ts';
import type { RegisteredExecutor, Slot } from './registered-executor.ts';

const MAX_COUNTED_EXECUTORS = 32;
/** Executors come and go with models of any name, so of those without a free slot only so many are remembered. */
const MAX_EMPTY = 64;

/** An index of the slots that can take a run now: by GPU model, the executors with a free slot of it. */
export class FreeSlots {
  readonly #executors = new Map<GpuModel, Set<RegisteredExecutor>>();

  set(slot: Slot, isFree: boolean): void {
    const { executor, gpu } = slot;
    let slots = executor.free.get(gpu);
    if (!slots) executor.free.set(gpu, (slots = new Set()));
    const wasEmpty = slots.size === 0;
    if (isFree) slots.add(slot);
    else slots.delete(slot);
    const isEmpty = slots.size === 0;
    if (wasEmpty && !isEmpty) this.#add(gpu, executor);
    else if (isEmpty && !wasEmpty) this.#remove(gpu, executor);
  }

  removeExecutor(executor: RegisteredExecutor): void {
    for (const gpu of this.#executors.keys()) this.#remove(gpu, executor);
  }

  firstFor(requirements: Requirements): Slot | undefined {
    for (const executor of this.#executors.get(requirements.gpu) ?? []) {
      if (!canServe(executor.capabilities, requirements)) continue;
      const [slot] = executor.free.get(requirements.gpu) ?? [];
      return slot;
    }
    return undefined;
  }

  /** How many slots fit, up to `most`; of many executors that do not fit, only the first ones are looked at. */
  countFor(requirements: Requirements, most: number): number {
    let count = 0;
    let looked = 0;
    for (const executor of this.#executors.get(requirements.gpu) ?? []) {
      if (canServe(executor.capabilities, requirements))
        count += executor.free.get(requirements.gpu)?.size ?? 0;
      looked += 1;
      if (count >= most || looked >= MAX_COUNTED_EXECUTORS) break;
    }
    return Math.min(count, most);
  }

  #add(gpu: GpuModel, executor: RegisteredExecutor): void {
    const executors = this.#executors.get(gpu);
    if (executors) executors.add(executor);
    else this.#executors.set(gpu, new Set([executor]));
  }

  #remove(gpu: GpuModel, executor: RegisteredExecutor): void {
    const executors = this.#executors.get(gpu);
    executors?.delete(executor);
    if (executors?.size === 0 && this.#executors.size > MAX_EMPTY) this.#executors.delete(gpu);
  }
}
