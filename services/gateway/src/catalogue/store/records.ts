import type { Bucket } from '@runledger/event-log/streams/bucket';
import { recordPage, type Listed, type RecordPage, type RecordSpan } from './core/record-page.ts';
import pLimit from 'p-limit';
import { changeRecord, type ChangedRecord, type Decide } from './change-record.ts';
import { knownRecords } from './known-records.ts';
import { recentOrganisations } from './recent-organisations.ts';

interface Owned {
  readonly id: string;
  readonly org_id: string;
}

export type CreatedRecord<Stored, No> =
  | { readonly kind: 'created'; readonly record: Stored }
  | { readonly kind: 'refused'; readonly why: No }
  /** The organisation has as many as a list can show. */
  | { readonly kind: 'too_many'; readonly most: number };

interface FoundRecords<Stored> {
  readonly newest: Stored;
  /** How many others seem to be as asked for. */
  readonly others: number;
}

/** The records of one kind. Each belongs to an organisation, which is part of its key. All of it may throw LogUnavailable. */
export interface Records<Stored, Entry = Listed> {
  get(org: string, id: string): Promise<Stored | undefined>;
  /**
   * Newest first, and only of these records is more read than what was written since the last call. What changes
   * meanwhile so that it does not belong there is left out.
   */
  page(org: string, span: RecordSpan, isMeant?: (entry: Entry) => boolean): Promise<RecordPage<Stored>>;
  /** Those that are as asked for, archived ones too; undefined when there are none. */
  find(org: string, isMeant: (entry: Entry) => boolean): Promise<FoundRecords<Stored> | undefined>;
  /** Makes a new one, unless `refuse` says why not; it is asked again after the write, as `changeRecord` tells. */
  create<No = never>(
    record: Stored,
    refuse?: () => Promise<No | undefined>,
  ): Promise<CreatedRecord<Stored, No>>;
  change<No>(org: string, id: string, decide: Decide<Stored, No>): Promise<ChangedRecord<Stored, No>>;
  /** Whatever was there. */
  put(record: Stored): Promise<void>;
  /** Forgets what is kept in memory, which is read again when it is needed. */
  forget(): void;
}

/** Less than the 10,000 that a bucket lists, since several may be made at the same moment. */
const MOST = 9_000;

/** Of each kind; some 400 bytes each. */
const MOST_IN_MEMORY = 50_000;
/** For each organisation, so that none keeps the others waiting: the broker answers in the order of asking. */
const READ_AT_ONCE = 32;

export const openRecords = <Stored extends Owned, Entry extends Listed>(
  bucket: Bucket<Stored>,
  kind: 'machines' | 'workflows' | 'deployments',
  entryOf: (record: Stored) => Entry,
): Records<Stored, Entry> => {
  const keyOf = (org: string, id: string): string => `${kind}.${org}.${id}`;
  const get = async (org: string, id: string): Promise<Stored | undefined> =>
    (await bucket.get(keyOf(org, id)))?.value;
  const known = recentOrganisations(MOST_IN_MEMORY, (org) => ({
    ...knownRecords(bucket, `${kind}.${org}`, entryOf),
    inLine: pLimit(READ_AT_ONCE),
  }));

  return {
    get,
    page: async (org, span, isMeant = () => true) => {
      const of = known.of(org);
      const index = await of.now();
      const isOn = (entry: Entry): boolean => entry.archived === span.archived && isMeant(entry);
      const { items, end } = recordPage(index.newestFirst, span, isOn);
      const read = ({ id }: Entry) =>
        of.inLine(async () => ({ id, record: (await bucket.get(keyOf(org, id)))?.value }));
      const records: Stored[] = [];
      for (const { id, record } of await Promise.all(items.map(read))) {
        if (record === undefined) index.delete(id);
        else if (isOn(entryOf(record))) records.push(record);
      }
      return { items: records, end };
    },
    find: async (org, isMeant) => {
      const index = await known.of(org).now();
      const entries = index.newestFirst.filter(isMeant);
      for (const [before, { id }] of entries.entries()) {
        const newest = await get(org, id);
        if (newest === undefined) index.delete(id);
        else if (isMeant(entryOf(newest))) return { newest, others: entries.length - before - 1 };
      }
      return undefined;
    },
    create: async <No>(record: Stored, refuse?: () => Promise<No | undefined>) => {
      const { org_id, id } = record;
      const { newestFirst } = await known.of(org_id).now();
      if (newestFirst.length >= MOST) return { kind: 'too_many', most: MOST };
      const why = await refuse?.();
      if (why !== undefined) return { kind: 'refused', why };
      const key = keyOf(org_id, id);
      if ((await bucket.create(key, record)) === false)
        throw new Error(`${key} is there: an id was given twice`);
      const changedMind = await refuse?.();
      if (changedMind === undefined) return { kind: 'created', record };
      await bucket.erase(key);
      return { kind: 'refused', why: changedMind };
    },
    change: (org, id, decide) => changeRecord(bucket, keyOf(org, id), decide),
    put: async (record) => {
      await bucket.put(keyOf(record.org_id, record.id), record);
    },
    forget: () => known.forgetAll(),
  };
};
