import { Retention as RetentionRecord } from '@runledger/contracts/catalogue/records';
import type { OrgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { changeRecord, type ChangedRecord, type Decide } from '../../catalogue/store/change-record.ts';
import { NOTHING_CHOSEN } from './core/retention.ts';

/** What organisations chose. One without a record chose nothing. Every method may throw LogUnavailable. */
export interface RetentionRecords {
  get(org_id: OrgId): Promise<RetentionRecord>;
  /** Of all organisations that have one, as each has it when it is read. One that changes it meanwhile may come twice. */
  all(): AsyncIterable<RetentionRecord>;
  change<No>(org_id: OrgId, decide: Decide<RetentionRecord, No>): Promise<ChangedRecord<RetentionRecord, No>>;
}

const KIND = 'retention';
const keyOf = (org_id: OrgId): string => `${KIND}.${org_id}`;

export const retentionRecords = (log: EventLog): RetentionRecords => {
  const records = openBucket(log, 'CATALOGUE', RetentionRecord);
  return {
    get: async (org_id) => (await records.get(keyOf(org_id)))?.value ?? { org_id, ...NOTHING_CHOSEN },
    all: async function* () {
      for (let behind = 0; ;) {
        const write = await records.nextWrite(KIND, behind);
        if (!write) return;
        const entry = await records.get(write.key);
        // The bucket keeps earlier revisions too.
        if (entry?.revision === write.revision) yield entry.value;
        behind = write.revision;
      }
    },
    change: async (org_id, decide) => {
      // False when it exists, by now.
      await records.create(keyOf(org_id), { org_id, ...NOTHING_CHOSEN });
      return changeRecord(records, keyOf(org_id), decide);
    },
  };
};
