import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutorState } from '@runledger/contracts/requests/executor-state';
import type { FleetRequest } from '@runledger/contracts/events/fleet-request';
import type { Draining } from '@runledger/contracts/http/executors';
import { newUuid } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { appendFleet } from '@runledger/event-log/messages/append-fleet';
import type { Executors } from './executors.ts';

type DrainedExecutor =
  /** The state once the scheduler has read the request. A later request may have changed it again. */
  | ({ readonly kind: 'read' } & Draining)
  | { readonly kind: 'unknown' }
  /** The request is stored; the scheduler did not read it in time. */
  | { readonly kind: 'not_read_yet' };

/** Drains or resumes all executors of a name. @throws {SchedulerUnavailable} @throws {LogUnavailable} */
export type DrainExecutor = (
  type: FleetRequest['type'],
  name: string,
  requested_by: string,
) => Promise<DrainedExecutor>;

export interface DrainExecutorOptions {
  readonly log: EventLog;
  readonly executors: Executors;
  readonly now: () => Date;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const READ_WITHIN_MS = 5_000;
const POLL_EVERY_MS = 50;

/**
 * The request is stored each time, also when the name is drained already. Otherwise an older request, whose response was
 * lost, could reach the scheduler last and win.
 */
export const drainExecutor =
  ({ log, executors, now, clock }: DrainExecutorOptions): DrainExecutor =>
  async (type, name, requested_by) => {
    if ((await executors.named(name)).executors.length === 0) return { kind: 'unknown' };
    const time = now().toISOString();
    const event_id = newUuid();
    const stored = await appendFleet(log, {
      type,
      version: 1,
      event_id,
      executor_name: name,
      requested_by,
      time,
    });
    const deadline = clock() + READ_WITHIN_MS;
    for (;;) {
      const { executors: present, read_up_to } = await executors.named(name);
      // A resumed name without an executor is not listed at all.
      const draining = present.some(({ drain }) => drain !== null);
      if (read_up_to >= stored) {
        return { kind: 'read', name, draining, runs: runsOn(present) };
      }
      if (clock() >= deadline) return { kind: 'not_read_yet' };
      await pause(POLL_EVERY_MS);
    }
  };

const runsOn = (executors: readonly ExecutorState[]): number =>
  executors.flatMap(({ slots }) => slots).filter(({ run }) => run !== null).length;
