import type { AuditRecord } from '@runledger/contracts/audit/audit-record';
import { auditShare, storeAuditRecord } from '@runledger/event-log/audit/audit-records';
import { AuditNotStored } from '@runledger/event-log/audit/record-action';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { LRUCache } from 'lru-cache';

export interface AuditStoreOptions {
  readonly log: EventLog;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Stores a record while its organisation has room for it. @throws {AuditNotStored} @throws {LogUnavailable} */
export type StoreAuditRecord = (record: AuditRecord) => Promise<void>;

/** Anybody can cause them. */
const REFUSALS: ReadonlySet<string> = new Set(['credential.refused', 'session.refused']);

const COUNTED_FOR_MS = 10_000;
const MAX_CACHED = 1_000;
const WITHIN_MS = 3_000;

interface Share {
  /** How many more records fit. */
  left: number;
}

/**
 * Nothing is dropped from the stream before its age. So an organisation may use its part of it only: else one that does things again and
 * again would leave the others without room for their records. What operators do has no part, and no end.
 */
export const auditStore = ({ log, clock }: AuditStoreOptions): StoreAuditRecord => {
  const shares = new LRUCache<string, Share>({ max: MAX_CACHED, ttl: COUNTED_FOR_MS, perf: { now: clock } });
  return async (record) => {
    const { org_id, action } = record;
    if (org_id !== null || REFUSALS.has(action)) {
      const whose = org_id ?? action;
      const share = shares.get(whose) ?? (await auditShare(log, record));
      if (!shares.has(whose)) shares.set(whose, share);
      if (share.left <= 0)
        throw new AuditNotStored(`The audit records of ${whose} have used up their part of AUDIT`);
      share.left -= 1;
    }
    await storeAuditRecord(log, record, WITHIN_MS);
  };
};
