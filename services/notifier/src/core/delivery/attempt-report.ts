import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';

/** Work of the notifier that did not come to its end. */
export type Failed =
  /** Nothing of it counts: this process stops, or lost the partition. */
  | { readonly kind: 'interrupted' }
  /** The notifier itself failed. */
  | { readonly kind: 'failed'; readonly why: string };

/** How an attempt went. */
export type AttemptReport =
  | Failed
  /** A newer message in TIMERS replaces the delivery. */
  | { readonly kind: 'superseded' }
  /** There was nothing to send: the run is settled, or not there (any more). */
  | { readonly kind: 'nothing' }
  /** The run cannot be read, or only by a later release. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** Nothing was sent: the time for it is over. */
  | ({ readonly kind: 'expired' } & Progress)
  /** Nothing was sent: the run's facts leave the log, or have left it. */
  | { readonly kind: 'log_expired'; readonly attempts: number }
  | ({ readonly kind: 'sent'; readonly result: SentResult; readonly endedAt: number } & Progress);

/** The progress of a delivery, from the run's facts. */
export interface Progress {
  readonly round: number;
  /** Made in this round before this one. */
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** What the receiver did. */
export interface SentResult {
  readonly reason: DeliveryAttemptResult;
  readonly message: string;
  readonly status: number | null;
  /** The header Retry-After as it came. */
  readonly retry_after: string | null;
}
