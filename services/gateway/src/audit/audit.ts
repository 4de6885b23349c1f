import { actionRecorder, type RecordAction } from '@runledger/event-log/audit/record-action';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { Refused } from '../http/refusal.ts';
import { statusOf } from '@runledger/contracts/http/refusals/refusal-codes';
import { auditStore } from './audit-store.ts';
import { refusedCredentials, type RefusedCredentials } from './refused-credentials.ts';

export interface Audit {
  readonly record: RecordAction;
  readonly refused: RefusedCredentials;
}

export interface AuditOptions {
  readonly log: EventLog;
  readonly now: () => Date;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly onLost: () => void;
}

/** Who did what at this gateway. */
export const openAudit = ({ log, now, clock, onLost }: AuditOptions): Audit => {
  const store = auditStore({ log, clock });
  return {
    record: actionRecorder({ log, store, isRefusal, onLost }),
    refused: refusedCredentials({ store, logger: log.logger, now, onLost }),
  };
};

/** A refusal of the server says that it may have been done. */
const isRefusal = (error: unknown): boolean => error instanceof Refused && statusOf(error.refusal.code) < 500;
