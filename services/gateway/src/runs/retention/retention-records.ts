import { Retention } from '@runledger/contracts/catalogue/records';
import type { OrgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { changeRecord, type ChangedRecord, type Decide } from '../../catalogue/store/change-record.ts';
import { NOTHING_CHOSEN } from './core/retention.ts';

/** What organisations chose. One without a record chose nothing. Every method may throw LogUnavailable. */
export interface RetentionRecords {
  get(org_id: OrgId): Promise<Retention>;
  /** Of all organisations that have one. */
  all(): Promise<Retention[]>;
  change<No>(org_id: OrgId, decide: Decide<Retention, No>): Promise<ChangedRecord<Retention, No>>;
}

const KIND = 'retention';
const keyOf = (org_id: OrgId): string => `${KIND}.${org_id}`;

export const retentionRecords = (log: EventLog): RetentionRecords => {
  const records = openBucket(log, 'CATALOGUE', Retention);
  return {
    get: async (org_id) => (await records.get(keyOf(org_id)))?.value ?? { org_id, ...NOTHING_CHOSEN },
    all: async () => (await records.list(KIND)).map(({ value }) => value),
    change: async (org_id, decide) => {
      // False when it exists, by now.
      await records.create(keyOf(org_id), { org_id, ...NOTHING_CHOSEN });
      return changeRecord(records, keyOf(org_id), decide);
    },
  };
};
