import { isDeepStrictEqual } from 'node:util';
import type { Bucket, Entry } from '@runledger/event-log/streams/bucket';
import { oneAtATimeByKey } from '@runledger/resilience/one-at-a-time';
import pLimit from 'p-limit';
import {
  recordPage,
  knownRecords,
  recentOrganisations,
  type Listed,
  type RecordPage,
  type RecordSpan,
} from './known-records.ts';

interface Owned {
  readonly id: string;
  readonly org_id: string;
}

export type CreatedRecord<Stored, No> =
  | { readonly kind: 'created'; readonly record: Stored }
  | { readonly kind: 'refused'; readonly why: No };

interface FoundRecords<Stored> {
  readonly newest: Stored;
  /** How many other records match, by the index. */
  readonly others: number;
}

/** The records of one kind. Each belongs to an organisation, which is part of its key. Every method may throw LogUnavailable. */
export interface Records<Stored, Entry = Listed> {
  /** As it is at some moment after the call. Concurrent calls for one record share reads. */
  get(org: string, id: string): Promise<Stored | undefined>;
  /**
   * Newest first. Reads what was written since the last call, and the records of the page. Leaves out a record that
   * changes meanwhile and no longer matches.
   */
  page(org: string, span: RecordSpan, matches?: (entry: Entry) => boolean): Promise<RecordPage<Stored>>;
  /** The records that match, archived ones too; undefined when no record does. */
  find(org: string, matches: (entry: Entry) => boolean): Promise<FoundRecords<Stored> | undefined>;
  /** Of the records that match, by the index: archived ones too, newest first. */
  ids(org: string, matches: (entry: Entry) => boolean): Promise<string[]>;
  /** How many the organisation has, archived ones too. */
  count(org: string): Promise<number>;
  /** Creates a record, unless `refuse` gives a reason. It is called again after the write, as in `changeRecord`. */
  create<No = never>(
    record: Stored,
    refuse?: () => Promise<No | undefined>,
  ): Promise<CreatedRecord<Stored, No>>;
  change<No>(org: string, id: string, decide: Decide<Stored, No>): Promise<ChangedRecord<Stored, No>>;
  remove<No>(org: string, id: string, refuse: RefuseRemoval<Stored, No>): Promise<RemovedRecord<No>>;
  /** Creates or replaces. */
  put(record: Stored): Promise<void>;
  /** Forgets what is cached. It is read again when it is needed. */
  forget(): void;
}

/** Of each kind; about 500 bytes each. */
const MAX_CACHED = 50_000;
/** For each organisation: the broker answers in the order of requests, so a burst of reads of one would delay the others. */
const MAX_CONCURRENT_READS = 32;

export const openRecords = <Stored extends Owned, Entry extends Listed>(
  bucket: Bucket<Stored>,
  kind: 'machines' | 'workflows' | 'deployments' | 'schedules',
  entryOf: (record: Stored) => Entry,
): Records<Stored, Entry> => {
  const keyOf = (org: string, id: string): string => `${kind}.${org}.${id}`;
  const read = oneAtATimeByKey(async (key) => (await bucket.get(key))?.value);
  const get = (org: string, id: string): Promise<Stored | undefined> => read(keyOf(org, id));
  const known = recentOrganisations(MAX_CACHED, (org) => ({
    ...knownRecords(bucket, `${kind}.${org}`, entryOf),
    limit: pLimit(MAX_CONCURRENT_READS),
  }));

  return {
    get,
    page: async (org, span, matches = () => true) => {
      const of = known.of(org);
      const index = await of.now();
      const isOn = (entry: Entry): boolean => entry.archived === span.archived && matches(entry);
      const { items, end } = recordPage(index.newestFirst, span, isOn);
      const readOf = ({ id }: Entry) => of.limit(async () => ({ id, record: await get(org, id) }));
      const records: Stored[] = [];
      for (const { id, record } of await Promise.all(items.map(readOf))) {
        if (record === undefined) index.delete(id);
        else if (isOn(entryOf(record))) records.push(record);
      }
      return { items: records, end };
    },
    find: async (org, matches) => {
      const index = await known.of(org).now();
      const entries = index.newestFirst.filter(matches);
      for (const [before, { id }] of entries.entries()) {
        const newest = await get(org, id);
        if (newest === undefined) index.delete(id);
        else if (matches(entryOf(newest))) return { newest, others: entries.length - before - 1 };
      }
      return undefined;
    },
    ids: async (org, matches) => (await known.of(org).now()).newestFirst.filter(matches).map(({ id }) => id),
    count: async (org) => (await known.of(org).now()).newestFirst.length,
    create: (record, refuse) => createRecord(bucket, keyOf(record.org_id, record.id), record, refuse),
    change: (org, id, decide) => changeRecord(bucket, keyOf(org, id), decide),
    remove: async (org, id, refuse) => {
      const removed = await removeRecord(bucket, keyOf(org, id), refuse);
      if (removed.kind === 'removed') (await known.of(org).now()).delete(id);
      return removed;
    },
    put: async (record) => {
      await bucket.put(keyOf(record.org_id, record.id), record);
    },
    forget: () => known.forgetAll(),
  };
};

const createRecord = async <Stored, No>(
  bucket: Bucket<Stored>,
  key: string,
  record: Stored,
  refuse?: () => Promise<No | undefined>,
): Promise<CreatedRecord<Stored, No>> => {
  const why = await refuse?.();
  if (why !== undefined) return { kind: 'refused', why };
  if ((await bucket.create(key, record)) === false)
    throw new Error(`${key} exists already: an id was used twice`);
  const whyLater = await refuse?.();
  if (whyLater === undefined) return { kind: 'created', record };
  await bucket.erase(key);
  return { kind: 'refused', why: whyLater };
};

/** The decision on a change of a record. */
export type DecidedRecord<Stored, No> =
  | { readonly kind: 'changed'; readonly record: Stored }
  | { readonly kind: 'refused'; readonly why: No };

/** The members that every new record begins with. */
export interface RecordOrigin {
  readonly id: string;
  readonly org_id: string;
  readonly created_at: string;
}

/** A member that a request leaves out and so does not change. */
export type Omitted = null | undefined;

export type Decide<Stored, No> = (record: Stored) => Promise<DecidedRecord<Stored, No>>;

export type ChangedRecord<Stored, No> =
  | DecidedRecord<Stored, No>
  | { readonly kind: 'none' }
  /** Other writers changed the record again and again. */
  | { readonly kind: 'too_busy' };

const MAX_TRIES = 50;

/**
 * Changes a record by compare-and-set, so that no change is lost. A decision may depend on other records, which can change
 * meanwhile. So it is made again after the write, and a change that would be refused now is undone: of two changes that
 * exclude each other, at least one sees the other.
 * @throws {LogUnavailable}
 */
export const changeRecord = async <Stored, No>(
  bucket: Bucket<Stored>,
  key: string,
  decide: Decide<Stored, No>,
): Promise<ChangedRecord<Stored, No>> => {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const entry = await bucket.get(key);
    if (!entry) return { kind: 'none' };
    const decided = await decide(entry.value);
    if (decided.kind === 'refused' || isDeepStrictEqual(decided.record, entry.value)) return decided;
    const revision = await bucket.update(key, decided.record, entry.revision);
    if (revision === false) continue;
    const again = await decide(entry.value);
    if (again.kind === 'changed') return decided;
    await bucket.update(key, entry.value, revision);
    return again;
  }
  return { kind: 'too_busy' };
};

export type RemovedRecord<No> =
  | { readonly kind: 'removed' }
  | { readonly kind: 'refused'; readonly why: No }
  | { readonly kind: 'none' }
  /** Other writers changed the record again and again. */
  | { readonly kind: 'too_busy' };

/** Why a record cannot be removed, by its present state and the time of its last change; undefined when it can. */
export type RefuseRemoval<Stored, No> = (entry: Entry<Stored>) => Promise<No | undefined>;

/** Removes a record as it was when it was decided: after another change it is decided again. @throws {LogUnavailable} */
export const removeRecord = async <Stored, No>(
  bucket: Bucket<Stored>,
  key: string,
  refuse: RefuseRemoval<Stored, No>,
): Promise<RemovedRecord<No>> => {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const entry = await bucket.get(key);
    if (!entry) return { kind: 'none' };
    const why = await refuse(entry);
    if (why !== undefined) return { kind: 'refused', why };
    if (await bucket.eraseAt(key, entry.revision)) return { kind: 'removed' };
  }
  return { kind: 'too_busy' };
};
