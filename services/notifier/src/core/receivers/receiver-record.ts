import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';
import { errorMessage } from '@runledger/contracts/events/error-message';
import { MAX_FAILURE_MESSAGE } from '@runledger/contracts/requests/receivers';
import type { SentResult } from '../delivery/attempt-report.ts';
import { verdictOf } from '../delivery/verdict.ts';

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
