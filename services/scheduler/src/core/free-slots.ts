import type { GpuModel } from '@runledger/contracts/gpu';
import { canServe, type Requirements } from './requirements.ts';
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

/** What a slot is for a run of a version that it has: free, or taken while its executor takes runs. */
type Use = 'free' | 'busy';

/** Which versions a slot has, and what it is for a run of them. */
interface Known {
  readonly use: Use;
  readonly versions: readonly string[];
  readonly gpu: GpuModel;
}

type SlotsByModel = Map<GpuModel, Set<Slot>>;

/** An index of the slots by the workflow versions that they have, in the sense of its owner and as far as executors said it. */
export class SlotsByVersion {
  readonly #slots: Readonly<Record<Use, Map<string, SlotsByModel>>> = { free: new Map(), busy: new Map() };
  readonly #known = new Map<Slot, Known>();
  /** Versions of which a busy slot is not busy any more, or has something else. */
  #vanished = new Set<string>();

  /** Null for a slot that no run can wait for. */
  set(slot: Slot, use: Use | null, versions: readonly string[]): void {
    const before = this.#known.get(slot);
    const { gpu } = slot;
    const counts = versions.length > 0 && use !== null;
    if (!before && !counts) return;
    if (before?.use === use && before.gpu === gpu && isSame(before.versions, versions)) return;
    if (before) this.#remove(slot, before);
    if (!counts) return;
    for (const version of versions) {
      const ofVersion = this.#slots[use].get(version) ?? new Map<GpuModel, Set<Slot>>();
      this.#slots[use].set(version, ofVersion.set(gpu, (ofVersion.get(gpu) ?? new Set()).add(slot)));
    }
    this.#known.set(slot, { use, versions, gpu });
  }

  has(slot: Slot, version: string): boolean {
    return this.#known.get(slot)?.versions.includes(version) === true;
  }

  freeFor(requirements: Requirements, version: string): Slot | undefined {
    return this.#first('free', requirements, version);
  }

  isBusyFor(requirements: Requirements, version: string): boolean {
    return this.#first('busy', requirements, version) !== undefined;
  }

  /** Whether `takeVanished` would take any. */
  get hasVanished(): boolean {
    return this.#vanished.size > 0;
  }

  /** The versions for which it may be in vain to wait since the last call. */
  takeVanished(): Iterable<string> {
    const vanished = this.#vanished;
    this.#vanished = new Set();
    return vanished;
  }

  #first(use: Use, requirements: Requirements, version: string): Slot | undefined {
    for (const slot of this.#slots[use].get(version)?.get(requirements.gpu) ?? [])
      if (canServe(slot.executor.capabilities, requirements)) return slot;
    return undefined;
  }

  #remove(slot: Slot, { use, versions, gpu }: Known): void {
    this.#known.delete(slot);
    for (const version of versions) {
      const ofVersion = this.#slots[use].get(version);
      const slots = ofVersion?.get(gpu);
      slots?.delete(slot);
      if (use === 'busy') this.#vanished.add(version);
      if (slots?.size === 0) ofVersion?.delete(gpu);
      if (ofVersion?.size === 0) this.#slots[use].delete(version);
    }
  }
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some === others || (some.length === others.length && some.every((one, index) => one === others[index]));
