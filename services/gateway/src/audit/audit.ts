import { statusOf } from '@runledger/contracts/http/refusals/refusal-codes';
import { storeAuditRecord } from '@runledger/event-log/audit/audit-records';
import { actionRecorder, type RecordAction } from '@runledger/event-log/audit/record-action';
import { Refused } from '../http/refusal.ts';
import { refusedCredentials, type RefusedCredentials } from './refused-credentials.ts';
import { rightsReserve, type RightsReserveOptions } from './rights-reserve.ts';

export interface Audit {
  readonly record: RecordAction;
  readonly refused: RefusedCredentials;
}

export interface AuditOptions extends RightsReserveOptions {
  readonly onLost: () => void;
}

/** Who did what at this gateway. */
export const openAudit = ({ onLost, ...options }: AuditOptions): Audit => {
  const { log, now } = options;
  const record = actionRecorder({ log, isRefusal, onLost });
  const withinReserve = rightsReserve(options);
  return {
    record: (what, work, completionOf) => withinReserve(what, () => record(what, work, completionOf)),
    refused: refusedCredentials({
      store: (counted) => storeAuditRecord(log, counted),
      logger: log.logger,
      now,
      onLost,
    }),
  };
};

/** A refusal of the server says that it may have been done. */
const isRefusal = (error: unknown): boolean => error instanceof Refused && statusOf(error.refusal.code) < 500;
