import type { OpenBreaker, PartitionPosition } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { AttemptReport, Failed, FinalDelivery } from './delivery.ts';
import type { Receiver } from './receiver.ts';
import type { PartitionStart } from './partition.ts';
import type { Conclusion } from './conclusion.ts';

/** Everything that the notifier's decisions follow from. */
export type NotifierInput =
  | LogAgeInput
  | PartitionInput
  | RunInput
  | TimerInput
  | ResultInput
  | ReconciliationInput
  | Tick;

/** Time has passed. `nextTick` returns when the next one is due. */
interface Tick {
  readonly type: 'tick';
}

/** Of RUNS, in milliseconds; Infinity without one. Before the first partition is gained, and from time to time. */
interface LogAgeInput {
  readonly type: 'log_age_read';
  readonly logAgeMs: number;
}

type PartitionInput =
  | { readonly type: 'partition_gained'; readonly start: PartitionStart }
  /** No more work starts in it. Work in flight may finish. */
  | { readonly type: 'partition_closing'; readonly partition: number }
  | { readonly type: 'partition_lost'; readonly partition: number }
  | {
      readonly type: 'position_stored';
      readonly partition: number;
      /** Null when it could not be stored. */
      readonly position: PartitionPosition | null;
    };

/** A message about a run whose webhook lies in a partition that is held. */
export interface RunMessage {
  readonly partition: number;
  readonly key: RunKey;
  readonly origin: string;
  readonly sequence: number;
}

/** A final notification follows from it. Both times are the broker's, in milliseconds since 1970. */
export interface EndMessage extends RunMessage {
  readonly time: number;
  /** Of the oldest fact that the run is read from. */
  readonly oldestFactAt: number;
}

export type RunInput =
  | ({ readonly type: 'run_ended' } & EndMessage)
  | ({ readonly type: 'redelivery_requested'; readonly round: number } & EndMessage)
  /** Of a run that wants intermediate notifications. */
  | ({ readonly type: 'run_changed' } & RunMessage)
  | ({ readonly type: 'progress_reported' } & RunMessage)
  /** Everything up to here was read for these partitions. */
  | {
      readonly type: 'read_up_to';
      readonly stream: 'runs' | 'activity';
      readonly sequence: number;
      readonly partitions: Iterable<number>;
    }
  /** The log ends before what was read: it was restored from an older copy. */
  | {
      readonly type: 'log_shortened';
      readonly stream: 'runs' | 'activity';
      readonly lastSequence: number;
    };

type TimerInput =
  | { readonly type: 'delivery_due'; readonly delivery: FinalDelivery }
  /** An opening that an earlier holder stored, and that is not over. `until`: milliseconds since 1970. */
  | ({ readonly type: 'opening_found' } & StoredOpening)
  /** The stored time of an opening is over. `restore`: the partition may have had no holder meanwhile. */
  | ({
      readonly type: 'opening_due';
      readonly sequence: number;
      readonly restore: boolean;
    } & StoredOpening)
  | { readonly type: 'deferred_found'; readonly delivery: FinalDelivery }
  /** All that was asked for is loaded. */
  | {
      readonly type: 'deferred_loaded';
      readonly receiver: Receiver;
      /** Of the last one found, or behind which nothing was found. */
      readonly lastSequence: number;
      readonly end: 'more' | 'end' | 'nothing_found' | 'failed';
    }
  /** A deferred delivery whose time is over. */
  | { readonly type: 'expired_found'; readonly delivery: FinalDelivery };

export interface StoredOpening extends Pick<OpenBreaker, 'origin' | 'org_id' | 'opens'> {
  readonly until: number;
}

type ResultInput =
  | { readonly type: 'attempt_finished'; readonly attempt: number; readonly report: AttemptReport }
  /** What follows from an attempt is stored, or not. */
  | { readonly type: 'attempt_concluded'; readonly attempt: number; readonly outcome: Outcome }
  | { readonly type: 'deferral_finished'; readonly run: RunId; readonly outcome: Outcome };

/** Of a write to the log. `no_room`: in TIMERS, for more of the organisation; `retry` of a delivery that was attempted. */
export type Outcome =
  | { readonly kind: 'stored' }
  | { readonly kind: 'no_room'; readonly retry?: LeftRetry }
  | Failed;

export type ReconciliationInput =
  /** A round begins, for partitions in which something may be unsettled. */
  | { readonly type: 'round_begun'; readonly partitions: readonly number[] }
  /** A final notification that no fact settles. */
  | ({ readonly type: 'unsettled_found'; readonly found: Found } & EndMessage)
  | { readonly type: 'checked_up_to'; readonly partitions: readonly number[]; readonly sequence: number }
  | { readonly type: 'round_ended'; readonly partitions: readonly number[] };

/** Where an unsettled final notification is. */
export type Found =
  | { readonly kind: 'in_memory' }
  /** A message in TIMERS. */
  | { readonly kind: 'timer'; readonly isDeferred: boolean }
  /** A message in TIMERS whose time was over long ago, and the broker has not said so. */
  | { readonly kind: 'overdue'; readonly delivery: FinalDelivery }
  /** Only in the log: TIMERS had no room for it, or has lost it. */
  | { readonly kind: 'outside'; readonly round: number };

/** What follows for a delivery that was attempted, and that TIMERS has no room for. */
interface LeftRetry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Made in the present round. */
  readonly attempts: number;
}

/** Of too many the oldest is forgotten: its delivery is attempted sooner. */
const MAX_KNOWN = 50_000;

/** When deliveries are attempted again that only the log holds. A process that is killed forgets them. */
export class LeftRetries {
  readonly #known = new Map<RunId, LeftRetry>();

  note(run: RunId, retry: LeftRetry): void {
    this.#known.delete(run);
    this.#known.set(run, retry);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > MAX_KNOWN) this.#known.delete(oldest);
  }

  of(run: RunId): LeftRetry | undefined {
    return this.#known.get(run);
  }

  forget(run: RunId): void {
    this.#known.delete(run);
  }

  get size(): number {
    return this.#known.size;
  }
}

/** What is to be done now. Those of one receiver are done one after the other. */
export type Effect =
  /** Answered by `attempt_finished`. */
  | {
      readonly type: 'attempt_final';
      readonly attempt: number;
      readonly delivery: FinalDelivery;
      /** Its time is over: it is given up, and nothing is sent. */
      readonly isOver: boolean;
    }
  | {
      readonly type: 'attempt_intermediate';
      readonly attempt: number;
      readonly partition: number;
      readonly key: RunKey;
      /** The run as it was at this sequence of RUNS, or later. */
      readonly atLeast: number;
    }
  /** Answered by `attempt_concluded`. */
  | {
      readonly type: 'conclude_attempt';
      readonly attempt: number;
      readonly delivery: FinalDelivery;
      readonly conclusion: Conclusion;
    }
  /** Answered by `deferral_finished`. The reminder is stored first, so that nothing is deferred forever. */
  | {
      readonly type: 'defer_delivery';
      readonly delivery: FinalDelivery;
      readonly reminder: StoredOpening | undefined;
    }
  /** Answered by `deferred_found` for each delivery that is not in memory, and then by `deferred_loaded`. */
  | {
      readonly type: 'load_deferred';
      readonly partition: number;
      readonly receiver: Receiver;
      readonly after: number;
      readonly max: number;
    }
  | { readonly type: 'store_opening'; readonly partition: number; readonly opening: StoredOpening }
  | {
      readonly type: 'remove_opening';
      readonly partition: number;
      readonly receiver: Receiver;
      /** Of the message that is due. */
      readonly due: number | null;
    }
  /** A message of TIMERS. */
  | { readonly type: 'remove_timer'; readonly partition: number; readonly sequence: number }
  /** Answered by `position_stored`. */
  | { readonly type: 'store_position'; readonly partition: number; readonly position: PartitionPosition }
  /** Nothing is under way any more in a partition that is closing. */
  | { readonly type: 'partition_idle'; readonly partition: number };
