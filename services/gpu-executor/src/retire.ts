import { within } from '@runledger/resilience/within';
import type { Executor } from './attempt/executor.ts';
import type { FleetPresence } from './fleet/fleet-presence.ts';

export interface RetireSettings {
  readonly executor: Pick<Executor, 'idle'>;
  readonly presence: Pick<FleetPresence, 'drain' | 'leave'>;
  /** Stops the workflows that still run; nothing more is told of them. */
  readonly abandon: AbortController;
  readonly stopWithinMs: number;
  readonly cancelGraceMs: number;
}

/**
 * The clean end of an executor: takes nothing new, lets what is in hand finish for a while, stops the rest, and gives
 * it back. The scheduler requeues on that word, so the programs are gone before it, as far as the time allows.
 */
export const retire = async (settings: RetireSettings): Promise<void> => {
  const { executor, presence, abandon, stopWithinMs, cancelGraceMs } = settings;
  // Time to stop what does not finish: all of the grace period if that leaves a good part of the stop.
  const reserveMs = Math.min(cancelGraceMs + 3_000, stopWithinMs * 0.6);
  const drained = presence.drain();
  await within(stopWithinMs - reserveMs, executor.idle(), () => undefined);
  abandon.abort();
  // What ignores SIGTERM dies with this process.
  await within(reserveMs / 2, executor.idle(), () => undefined);
  await drained;
  await presence.leave();
};
