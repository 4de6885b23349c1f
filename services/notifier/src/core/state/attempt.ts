import type { RunId } from '@runledger/contracts/ids';
import type { Permit } from '../receivers/concurrency-limits.ts';
import type { Sent } from '../receivers/receiver.ts';
import type { FinalDelivery } from '../delivery/final-delivery.ts';
import type { IntermediateNotification } from './outbox.ts';

/** An attempt that is being made, or whose outcome is being stored. */
export interface Attempt {
  readonly id: number;
  readonly run: RunId;
  readonly partition: number;
  readonly content:
    | { readonly kind: 'final'; readonly delivery: FinalDelivery }
    | { readonly kind: 'intermediate'; readonly notification: IntermediateNotification };
  /** None for a delivery that is only given up: nothing is sent. */
  readonly permit: Permit | undefined;
  /** Of the breakers. */
  readonly ticket: number;
  /** How the request ended, while its outcome is being stored. */
  sent: Sent;
  /** The outcome could not be stored once; the delivery is being postponed. */
  postponed: boolean;
}
