import { executorName } from '@runledger/contracts/ids';
import { isDraining, type RegisteredExecutor, type Slot } from '../fleet/registered-executor.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { Scheduling } from '../scheduling.ts';

export interface KnownSlot {
  readonly slot: Slot;
  /** `closed`: its executor takes no runs, whether one is in it or not. */
  readonly use: 'free' | 'busy' | 'closed';
}

/** All slots that a scheduler knows, from executors and runs and not from an index. `isDrained`: an operator drained the name. */
export const knownSlots = (
  scheduling: Pick<Scheduling, 'executors'>,
  runs: Iterable<Pick<KnownRun, 'slot'>>,
  isDrained: (name: string) => boolean,
): readonly KnownSlot[] => {
  const held = new Set<string>();
  for (const { slot } of runs) if (slot) held.add(`${slot.executor} ${slot.slot}`);
  return [...scheduling.executors()].flatMap((executor) => {
    const isOpen = takesRuns(executor) && !isDrained(executorName(executor.id));
    return [...executor.slots.values()].map((slot): KnownSlot => {
      if (!isOpen) return { slot, use: 'closed' };
      const isBusy = held.has(`${executor.id} ${slot.number}`) || Boolean(slot.leftover?.until);
      return { slot, use: isBusy ? 'busy' : 'free' };
    });
  });
};

const takesRuns = (executor: RegisteredExecutor): boolean =>
  executor.confirmed && !executor.lossPending && !isDraining(executor);
