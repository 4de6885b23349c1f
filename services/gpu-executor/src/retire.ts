import { within } from '@runledger/resilience/within';
import type { Executor } from './attempt/executor.ts';
import type { FleetPresence } from './fleet/fleet-presence.ts';

export interface RetireSettings {
  readonly executor: Pick<Executor, 'idle'>;
  readonly presence: Pick<FleetPresence, 'drain' | 'leave'>;
  /** Stops the workflows; nothing more is stored about them. */
  readonly abandon: AbortController;
  readonly stopWithinMs: number;
  readonly cancelGraceMs: number;
}

/**
 * The clean stop of an executor: it takes no new runs, gives the current runs time to finish, stops the rest, and leaves.
 * The scheduler requeues when the executor has left, so the programs should have ended before.
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
