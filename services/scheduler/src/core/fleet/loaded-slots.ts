import type { GpuModel } from '@runledger/contracts/gpu';
import { canServe, type Requirements } from '../slots/requirements.ts';
import type { Slot } from './registered-executor.ts';

/** What a slot that has something loaded is for a run of the same version: free, or taken while its executor takes runs. */
type Use = 'free' | 'busy';

/** What a slot has loaded, and what it is for a run of that version. */
interface Loaded {
  readonly use: Use;
  readonly version: string;
  readonly gpu: GpuModel;
}

type SlotsByModel = Map<GpuModel, Set<Slot>>;

/** An index of the slots by the workflow version that they have loaded, as far as executors said it. */
export class LoadedSlots {
  /** By version. */
  readonly #slots: Readonly<Record<Use, Map<string, SlotsByModel>>> = { free: new Map(), busy: new Map() };
  readonly #loaded = new Map<Slot, Loaded>();
  /** Versions of which a busy slot is not busy any more, or has something else. */
  #vanished = new Set<string>();

  /** Null for a slot that no run can wait for. */
  set(slot: Slot, use: Use | null): void {
    const before = this.#loaded.get(slot);
    const { gpu, loaded: version } = slot;
    const counts = version !== null && use !== null;
    if (!before && !counts) return;
    if (before?.use === use && before.version === version && before.gpu === gpu) return;
    if (before) this.#remove(slot, before);
    if (!counts) return;
    const ofVersion = this.#slots[use].get(version) ?? new Map<GpuModel, Set<Slot>>();
    this.#slots[use].set(version, ofVersion.set(gpu, (ofVersion.get(gpu) ?? new Set()).add(slot)));
    this.#loaded.set(slot, { use, version, gpu });
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

  #remove(slot: Slot, { use, version, gpu }: Loaded): void {
    const ofVersion = this.#slots[use].get(version);
    const slots = ofVersion?.get(gpu);
    slots?.delete(slot);
    this.#loaded.delete(slot);
    if (use === 'busy') this.#vanished.add(version);
    if (slots?.size === 0) ofVersion?.delete(gpu);
    if (ofVersion?.size === 0) this.#slots[use].delete(version);
  }
}
