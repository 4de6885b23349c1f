import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** The final notification of a run, until its receiver has accepted it or it is given up. */
export interface FinalDelivery {
  readonly key: RunKey;
  readonly origin: string;
  /** That of the origin. */
  readonly partition: number;
  /** 1, and one more with every redelivery. */
  readonly round: number;
  /** Made so far in this round. */
  readonly attempts: number;
  /** Nothing is attempted after it. Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The message that it comes from, kept until it is settled: a fact of the run in RUNS, or a message in TIMERS. */
  readonly source: { readonly kind: 'fact' | 'due' | 'deferred'; readonly sequence: number };
  /** Another notifier may have continued it, or it is a redelivery: TIMERS is read before it is sent. */
  readonly mayBeSuperseded: boolean;
}
