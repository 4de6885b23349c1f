import { within } from '@runledger/resilience/within';
import type { Executor } from './attempt/executor.ts';
import type { FleetPresence } from './fleet/fleet-presence.ts';

export interface RetireSettings {
  readonly executor: Pick<Executor, 'idle'>;
  readonly presence: Pick<FleetPresence, 'drain' | 'leave'>;
  /** Stops the workflows that still run; nothing more is stored for them. */
  readonly abandon: AbortController;
  readonly stopWithinMs: number;
  readonly cancelGraceMs: number;
}

/**
 * The clean stop of an executor: it takes no new runs, lets the runs under way finish for a while, stops the rest, and leaves.
 * The scheduler requeues when the executor has left, so the programs have ended before, as far as the time allows.
 */
export const retire = async (settings: RetireSettings): Promise<void> => {
  const { executor, presence, abandon, stopWithinMs, cancelGraceMs } = settings;
  // Time to stop the runs that do not finish: the whole grace period, if that leaves a good part of the stop.
  const reserveMs = Math.min(cancelGraceMs + 3_000, stopWithinMs * 0.6);
  const drained = presence.drain();
  await within(stopWithinMs - reserveMs, executor.idle(), () => undefined);
  abandon.abort();
  // A program that ignores SIGTERM is killed when this process ends.
  await within(reserveMs / 2, executor.idle(), () => undefined);
  await drained;
  await presence.leave();
};
