import { Erasure } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { changeRecord } from './change-record.ts';
import { openBucket, type Entry } from '@runledger/event-log/streams/bucket';

/** The erasures of organisations, which are never removed. Every method may throw LogUnavailable. */
export interface ErasureRecords {
  find(org_id: string): Promise<Entry<Erasure> | undefined>;
  /** Stores a new one, or finds the one that was requested before. */
  begin(erasure: Erasure): Promise<Erasure>;
  /** `change` is pure: it is called again when the record was changed meanwhile. */
  change(org_id: string, change: (present: Erasure) => Erasure): Promise<void>;
  /** The next one behind a revision, in the order of their last changes. */
  next(behind: number): Promise<Entry<Erasure> | undefined>;
}

const KIND = 'erasures';
const keyOf = (org_id: string): string => `${KIND}.${org_id}`;

export const erasureRecords = (log: EventLog): ErasureRecords => {
  const records = openBucket(log, 'CATALOGUE', Erasure);
  return {
    find: (org_id) => records.get(keyOf(org_id)),
    begin: async (erasure) => {
      const key = keyOf(erasure.org_id);
      await records.create(key, erasure);
      return (await records.get(key))?.value ?? erasure;
    },
    change: async (org_id, change) => {
      await changeRecord(records, keyOf(org_id), async (present) => ({
        kind: 'changed',
        record: change(present),
      }));
    },
    next: async (behind) => {
      for (let from = behind; ;) {
        const write = await records.nextWrite(KIND, from);
        const entry = write && (await records.get(write.key));
        // The bucket keeps earlier revisions too.
        if (write === undefined || entry?.revision === write.revision) return entry;
        from = write.revision;
      }
    },
  };
};
