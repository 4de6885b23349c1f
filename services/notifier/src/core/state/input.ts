import type { OpenBreaker, PartitionPosition } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { AttemptReport, Failed } from '../delivery/attempt-report.ts';
import type { FinalDelivery } from '../delivery/final-delivery.ts';
import type { Receiver } from '../receivers/receiver.ts';
import type { LeftRetry } from './left-retries.ts';
import type { PartitionStart } from './partition.ts';

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
