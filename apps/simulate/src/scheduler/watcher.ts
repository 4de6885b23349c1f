import type { Decision } from '@runledger/scheduler/core/decision';
import type { Scheduling } from '@runledger/scheduler/core/scheduling';
import type { SchedulerInput } from '@runledger/scheduler/core/scheduler-input';
import type { Process } from '../virtual-time.ts';

/** A scheduler as the checks see it. */
export interface WatchedScheduler {
  readonly name: string;
  readonly scheduling: Scheduling;
  readonly isLeading: boolean;
  readonly process: Process;
}

export interface CheckedLoss {
  readonly executor: string;
  /** When the last heartbeat was read, and when that one was sent; undefined for none. */
  readonly readAtMs: number;
  readonly lastAtMs: number | undefined;
}

/** What the checks learn about schedulers. */
export interface SchedulerWatcher {
  /** Its state is empty: it was started. */
  readonly onStarted: (scheduler: WatchedScheduler) => void;
  /** The core took an input, and decided. */
  readonly onInput: (
    scheduler: WatchedScheduler,
    input: SchedulerInput,
    decisions: readonly Decision[],
  ) => void;
  /** It stores a loss, after it has read the last heartbeat. */
  readonly onLoss: (scheduler: WatchedScheduler, loss: CheckedLoss) => void;
  readonly onGap: (scheduler: WatchedScheduler, sequence: number) => void;
}
