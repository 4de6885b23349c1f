import type { GpuModel } from '@runledger/contracts/gpu';
import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import { isDraining, type RegisteredExecutor, type Slot } from '../fleet/registered-executor.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { ShareOf } from '../runs/fair-queue.ts';
import type { Scheduling } from '../scheduling.ts';
import { canServe } from '../slots/requirements.ts';
import { heldSlots, limitAt } from './held-slots.ts';

export interface Circumstances {
  readonly shareOf: ShareOf;
  /** An operator drained the name. */
  readonly isDrained: (name: string) => boolean;
  /** The GPU models that a waiting run may take now: none while it waits to be tried again. */
  readonly modelsOf: (run: KnownRun) => readonly GpuModel[];
  /** Whether the run leaves this free slot to others, because it waits for one with its version; left out where no run does. */
  readonly holdsOutFor?: (run: KnownRun, slot: Slot) => boolean;
}

export interface WaitsBesideSlot {
  readonly run: KnownRun;
  readonly executor: ExecutorId;
}

/** A run that waits although a slot is free that could take it. There must be none while the scheduler leads and the log has room. */
export const waitsBesideSlot = (
  scheduling: Scheduling,
  { shareOf, isDrained, modelsOf, holdsOutFor = () => false }: Circumstances,
): WaitsBesideSlot | undefined => {
  const runs = [...scheduling.runs()];
  const taken = new Set(runs.map(({ slot }) => slot && `${slot.executor} ${slot.slot}`));
  const isFree = ({ executor, number, leftover }: Slot): boolean =>
    !taken.has(`${executor.id} ${number}`) && !leftover?.until;
  const open = [...scheduling.executors()]
    .filter((executor) => takesRuns(executor) && !isDrained(executorName(executor.id)))
    .map((executor) => ({ executor, free: [...executor.slots.values()].filter(isFree) }))
    .filter(({ free }) => free.length > 0);
  if (open.length === 0) return undefined;
  const held = heldSlots(runs);
  for (const run of runs) {
    if (run.run.status !== 'queued' || run.decided || limitAt(held, run.run, shareOf)) continue;
    const models = modelsOf(run);
    const found = open.find(({ executor, free }) =>
      free.some(
        (slot) =>
          models.includes(slot.gpu) &&
          canServe(executor.capabilities, { ...run.requirements, gpu: slot.gpu }) &&
          !holdsOutFor(run, slot),
      ),
    );
    if (found) return { run, executor: found.executor.id };
  }
  return undefined;
};

const takesRuns = (executor: RegisteredExecutor): boolean =>
  executor.confirmed && !executor.lossPending && !isDraining(executor);
