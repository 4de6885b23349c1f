import type { OpenBreaker } from '@runledger/contracts/deliveries/timers';
import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { errorMessage } from '@runledger/contracts/events/run-error';
import { MAX_FAILURE_MESSAGE } from '@runledger/contracts/deliveries/receivers';
import type { SentResult } from './delivery.ts';
import { verdictOf } from './conclusion.ts';

/** One organisation's webhooks at one origin. */
export interface Receiver {
  readonly org_id: string;
  readonly origin: string;
}

/** Also the key of its breaker. The key of the origin's breaker is the origin. */
export const receiverKey = ({ org_id, origin }: Receiver): string => `${org_id} ${origin}`;

/** The key of a receiver's breaker, or of an origin's. */
export const breakerKey = ({ org_id, origin }: Pick<OpenBreaker, 'org_id' | 'origin'>): string =>
  org_id === null ? origin : receiverKey({ org_id, origin });

/** The receiver or the origin that a breaker's key names. */
export const receiverOfKey = (key: string): Pick<OpenBreaker, 'org_id' | 'origin'> => {
  const space = key.indexOf(' ');
  return space < 0
    ? { org_id: null, origin: key }
    : { org_id: key.slice(0, space), origin: key.slice(space + 1) };
};

/** How an attempt ended. `nothing`: there was nothing to send. */
export type Sent = DeliveryAttemptResult | 'nothing';

/** What became of the last attempts at a receiver, since this process holds its partition. Times in milliseconds since 1970. */
export interface ReceiverRecord {
  readonly lastSuccessAt: number | undefined;
  readonly lastFailure: RecordedFailure | undefined;
  /** Since the last success. */
  readonly failuresInARow: number;
  /** Of the first of these. */
  readonly failingSince: number | undefined;
}

export interface RecordedFailure extends Pick<SentResult, 'status' | 'message'> {
  readonly at: number;
  readonly reason: DeliveryAttemptResult;
}

export const NO_RECORD: ReceiverRecord = {
  lastSuccessAt: undefined,
  lastFailure: undefined,
  failuresInARow: 0,
  failingSince: undefined,
};

/** The record with one more result. A failure of the notifier's own says nothing of the receiver. */
export const afterResult = (record: ReceiverRecord, result: SentResult, now: number): ReceiverRecord => {
  const { reason, status } = result;
  switch (verdictOf(reason)) {
    case 'own':
    case 'interrupted':
      return record;
    case 'accepted':
      return { ...record, lastSuccessAt: now, failuresInARow: 0, failingSince: undefined };
    case 'gone':
    case 'failed':
      return {
        ...record,
        lastFailure: { at: now, reason, status, message: errorMessage(result.message, MAX_FAILURE_MESSAGE) },
        failuresInARow: record.failuresInARow + 1,
        failingSince: record.failingSince ?? now,
      };
  }
};
