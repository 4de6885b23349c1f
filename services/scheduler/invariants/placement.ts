import type { ExecutorId } from '@runledger/contracts/ids';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { Run } from '@runledger/contracts/fold/run';
import type { ShareOf } from '../src/core/runs/fair-queue.ts';
import type { KnownRun } from '../src/core/runs/known-run.ts';
import type { Scheduling } from '../src/core/scheduling.ts';
import { heldSlots, limitAt, knownSlots, type KnownSlot } from './known-slots.ts';
import type { Slot } from '../src/core/registered-executor.ts';
import { canServe } from '../src/core/requirements.ts';

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

/** The broker's clock at the last tick, in milliseconds since 1970, and how it reads times. */
export interface TickClock {
  readonly now: number;
  readonly instantOf: (time: string) => number;
}

/** The GPU models that a waiting run may take, in order: none before its time, others of its list later. */
export const modelsAt = (
  { request, queued_at, not_before }: Pick<Run, 'request' | 'queued_at' | 'not_before'>,
  clock: TickClock,
): readonly GpuModel[] => {
  const { gpu, gpu_fallbacks = [] } = request;
  return [{ gpu, after_s: 0 }, ...gpu_fallbacks].flatMap((one) => {
    const isAtOnce = not_before === null && one.after_s === 0;
    const from = (): number => clock.instantOf(not_before ?? queued_at) + one.after_s * 1_000;
    return isAtOnce || from() <= clock.now ? [one.gpu] : [];
  });
};

/** Whether the executor of the slot and its GPU fit the run, by the models that it may take. */
export const fits = (
  { requirements }: Pick<KnownRun, 'requirements'>,
  { executor, gpu }: Slot,
  models: readonly GpuModel[],
): boolean => models.includes(gpu) && canServe(executor.capabilities, { ...requirements, gpu });

/** How ready a slot is for a version: 0 for one that has it loaded, 1 for one whose executor has prepared it, 2 for a cold one. */
const coldness = ({ loaded, executor }: Slot, version: string): number =>
  loaded === version ? 0 : executor.prepared.includes(version) ? 1 : 2;

/** A free slot that fits the run and is warmer than another one. */
export const warmerSlot = (
  known: KnownRun,
  than: Slot,
  slots: readonly KnownSlot[],
  clock: TickClock,
): Slot | undefined => {
  const { workflow_version_id: version } = known.run.request;
  return slots.find(
    ({ slot, use }) =>
      use === 'free' &&
      coldness(slot, version) < coldness(than, version) &&
      fits(known, slot, modelsAt(known.run, clock)),
  )?.slot;
};

/**
 * Whether the run leaves a free slot to others: within its warm wait, and while a busy slot is warmer, of an executor that takes
 * runs, and of a model that it may take from the beginning or that of the free slot.
 */
export const holdsOutFor = (
  known: Pick<KnownRun, 'run' | 'requirements'>,
  free: Slot,
  slots: readonly KnownSlot[],
  clock: TickClock,
): boolean => {
  const { request, queued_at, not_before } = known.run;
  const { warm_wait_s, workflow_version_id: version, gpu_fallbacks = [] } = request;
  if (warm_wait_s === undefined) return false;
  if (clock.instantOf(not_before ?? queued_at) + warm_wait_s * 1_000 <= clock.now) return false;
  const early = gpu_fallbacks.filter(({ after_s }) => after_s === 0).map(({ gpu }) => gpu);
  const models = [request.gpu, ...early, free.gpu];
  return slots.some(
    ({ slot, use }) =>
      use === 'busy' && coldness(slot, version) < coldness(free, version) && fits(known, slot, models),
  );
};
