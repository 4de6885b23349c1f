import type { ExecutorId } from '@runledger/contracts/ids';
import type { ShareOf } from '../runs/fair-queue.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { Scheduling } from '../scheduling.ts';
import { heldSlots, limitAt } from './held-slots.ts';
import { knownSlots } from './known-slots.ts';
import { fits, holdsOutFor, modelsAt, type TickClock } from './placement-rules.ts';

export interface Circumstances {
  readonly shareOf: ShareOf;
  /** An operator drained the name. */
  readonly isDrained: (name: string) => boolean;
  readonly clock: TickClock;
}

export interface WaitsBesideSlot {
  readonly run: KnownRun;
  readonly executor: ExecutorId;
}

/**
 * A run that waits although a slot is free that could take it: of a GPU model that it may take by now, with its labels, within all limits,
 * and not left to others because it waits for a slot with its version. There must be none while the scheduler leads and the log has room.
 */
export const waitsBesideSlot = (
  scheduling: Scheduling,
  { shareOf, isDrained, clock }: Circumstances,
): WaitsBesideSlot | undefined => {
  const runs = [...scheduling.runs()];
  const slots = knownSlots(scheduling, runs, isDrained);
  const free = slots.filter(({ use }) => use === 'free').map(({ slot }) => slot);
  if (free.length === 0) return undefined;
  const held = heldSlots(runs);
  for (const run of runs) {
    if (run.run.status !== 'queued' || run.decided || limitAt(held, run.run, shareOf)) continue;
    const models = modelsAt(run.run, clock);
    const found = free.find((slot) => fits(run, slot, models) && !holdsOutFor(run, slot, slots, clock));
    if (found) return { run, executor: found.executor.id };
  }
  return undefined;
};
