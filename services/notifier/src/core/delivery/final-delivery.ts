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
  /** Of RUNS: the fact that it follows from, which is the run's end or the request to send it again. */
  readonly fact: number;
  /**
   * What keeps it until it is settled: its fact in RUNS, which holds back the position of the partition (`fact`) or was found behind
   * it by the reconciliation (`log`), or a message in TIMERS.
   */
  readonly source: { readonly kind: 'fact' | 'log' | 'due' | 'deferred'; readonly sequence: number };
  /** Another notifier may have continued it, or it is a redelivery: TIMERS is read before it is sent. */
  readonly mayBeSuperseded: boolean;
}

/** Whether TIMERS holds a message of it already. */
export const isInTimers = ({ source: { kind } }: FinalDelivery): boolean =>
  kind === 'due' || kind === 'deferred';
