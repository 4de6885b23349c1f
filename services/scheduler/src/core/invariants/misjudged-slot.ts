import type { Slot } from '../fleet/registered-executor.ts';
import type { Scheduling } from '../scheduling.ts';
import { knownSlots } from './known-slots.ts';

/** A slot that the scheduler takes for busy although no run is in it, or for free although one is. There must be none. */
export const misjudgedSlot = (
  scheduling: Scheduling,
  isDrained: (name: string) => boolean,
): { readonly slot: Slot; readonly isFree: boolean } | undefined => {
  for (const { slot, use } of knownSlots(scheduling, scheduling.runs(), isDrained)) {
    const isFree = use === 'free';
    const isTakenForFree = slot.executor.free.get(slot.gpu)?.has(slot) ?? false;
    if (isTakenForFree !== isFree) return { slot, isFree };
  }
  return undefined;
};
