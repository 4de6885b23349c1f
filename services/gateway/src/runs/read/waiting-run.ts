import { setTimeout as pause } from 'node:timers/promises';
import type { QueuedRun, Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { WaitReason } from '@runledger/contracts/requests/wait-reason';
import type { SchedulerClient } from '../../scheduler/scheduler-client.ts';
import type { CurrentRun, ReadCurrentRun } from '../current/current-run.ts';

type WaitingRun =
  | { readonly kind: 'waits'; readonly run: QueuedRun; readonly wait: WaitReason }
  | { readonly kind: 'does_not_wait'; readonly run: Run }
  /** The run was queued a moment ago, or the scheduler is behind. */
  | { readonly kind: 'not_read_yet' }
  | Exclude<CurrentRun, { kind: 'found' }>;

/** Why a run waits. @throws {SchedulerUnavailable} @throws {LogUnavailable} */
export type ReadWaitingRun = (key: RunKey) => Promise<WaitingRun>;

export interface WaitingRunOptions {
  readonly scheduler: Pick<SchedulerClient, 'waitReason'>;
  readonly current: ReadCurrentRun;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const KNOWN_WITHIN_MS = 3_000;
const RETRY_AFTER_MS = 50;

/**
 * Retries for up to three seconds: the scheduler may not know a run yet that was queued a moment ago, or may have assigned
 * a run that is still read as queued.
 */
export const waitingRun =
  ({ scheduler, current, clock }: WaitingRunOptions): ReadWaitingRun =>
  async (key) => {
    const deadline = clock() + KNOWN_WITHIN_MS;
    for (;;) {
      const found = await current(key);
      if (found.kind !== 'found') return found;
      const { run } = found;
      if (run.status !== 'queued') return { kind: 'does_not_wait', run };
      const wait = await scheduler.waitReason(key);
      if (wait !== null) return { kind: 'waits', run, wait };
      if (clock() >= deadline) return { kind: 'not_read_yet' };
      await pause(RETRY_AFTER_MS);
    }
  };
