import type { GpuModel } from '@runledger/contracts/gpu';
import { canServe, type Requirements } from '../slots/requirements.ts';
import type { Slot } from './registered-executor.ts';

/** What a slot that has something loaded is for a run of the same version: free, or taken while its executor takes runs. */
type Use = 'free' | 'busy';

/** An index of the slots by the workflow version that they have loaded, as far as executors said it. */
export class LoadedSlots {
  readonly #slots: Readonly<Record<Use, Map<string, Set<Slot>>>> = { free: new Map(), busy: new Map() };
  readonly #placeOf = new Map<Slot, { readonly use: Use; readonly key: string }>();
  /** Versions of which a busy slot is not busy any more, or has something else. */
  #vanished = new Set<string>();

  /** Null for a slot that no run can wait for. */
  set(slot: Slot, use: Use | null): void {
    const before = this.#placeOf.get(slot);
    const key = slot.loaded === null || use === null ? null : keyOf(slot.gpu, slot.loaded);
    if (before?.use === use && before.key === key) return;
    if (before) this.#remove(slot, before.use, before.key);
    if (key === null || use === null) return;
    const slots = this.#slots[use].get(key) ?? new Set<Slot>();
    this.#slots[use].set(key, slots.add(slot));
    this.#placeOf.set(slot, { use, key });
  }

  freeFor(requirements: Requirements, version: string): Slot | undefined {
    return this.#first('free', requirements, version);
  }

  isBusyFor(requirements: Requirements, version: string): boolean {
    return this.#first('busy', requirements, version) !== undefined;
  }

  /** The versions for which it may be in vain to wait since the last call. */
  takeVanished(): Iterable<string> {
    const vanished = this.#vanished;
    if (vanished.size > 0) this.#vanished = new Set();
    return vanished;
  }

  #first(use: Use, requirements: Requirements, version: string): Slot | undefined {
    for (const slot of this.#slots[use].get(keyOf(requirements.gpu, version)) ?? [])
      if (canServe(slot.executor.capabilities, requirements)) return slot;
    return undefined;
  }

  #remove(slot: Slot, use: Use, key: string): void {
    const slots = this.#slots[use].get(key);
    slots?.delete(slot);
    this.#placeOf.delete(slot);
    if (use === 'busy') this.#vanished.add(key.slice(key.indexOf('/') + 1));
    if (slots?.size === 0) this.#slots[use].delete(key);
  }
}

/** No model has a slash. */
const keyOf = (gpu: GpuModel, version: string): string => `${gpu}/${version}`;
