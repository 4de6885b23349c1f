import type { PartitionPosition } from '@runledger/contracts/deliveries/timers';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Conclusion } from '../delivery/conclusion.ts';
import type { FinalDelivery } from '../delivery/final-delivery.ts';
import type { Receiver } from '../receivers/receiver.ts';
import type { StoredOpening } from './input.ts';

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
