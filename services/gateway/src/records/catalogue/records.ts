import { isDeepStrictEqual } from 'node:util';
import type { Bucket, Entry } from '@runledger/event-log/streams/bucket';
import type { Tables } from '@runledger/event-log/table/table';
import { oneAtATimeByKey } from '@runledger/resilience/one-at-a-time';

export type CreatedRecord<Stored, No> =
  | { readonly kind: 'created'; readonly record: Stored }
  | { readonly kind: 'refused'; readonly why: No };

interface FoundRecords<Stored> {
  readonly newest: Stored;
  /** How many other records match. */
  readonly others: number;
}

/** The records of one kind. Each belongs to an organisation, which is part of its key. Every method may throw LogUnavailable. */
export interface Records<Stored> {
  /** As it is at some moment after the call. Concurrent calls for one record share reads. */
  get(org: string, id: string): Promise<Stored | undefined>;
  /** All of an organisation, archived ones too, newest first. */
  all(org: string): Promise<readonly Stored[]>;
  /** Newest first. */
  page(org: string, span: RecordSpan, matches: (record: Stored) => boolean): Promise<RecordPage<Stored>>;
  /** The records that match, archived ones too; undefined when no record does. */
  find(org: string, matches: (record: Stored) => boolean): Promise<FoundRecords<Stored> | undefined>;
  /** Creates a record, unless `refuse` gives a reason. It is called again after the write, as in `changeRecord`. */
  create<No = never>(
    record: Stored,
    refuse?: () => Promise<No | undefined>,
  ): Promise<CreatedRecord<Stored, No>>;
  change<No>(org: string, id: string, decide: Decide<Stored, No>): Promise<ChangedRecord<Stored, No>>;
  remove<No>(org: string, id: string, refuse: RefuseRemoval<Stored, No>): Promise<RemovedRecord<No>>;
  /** Creates or replaces. */
  put(record: Stored): Promise<void>;
}

/** What a list needs of a record. */
interface Listable {
  readonly id: string;
  readonly created_at: string;
  readonly archived?: boolean;
}

export interface Owned extends Listable {
  readonly org_id: string;
}

/** The order of these texts is the order of creation and of every list. It never changes. */
export const sortKeyOf = ({ created_at, id }: Listable): string => `${created_at}.${id}`;

interface ListedWhole<Stored> {
  readonly keep: (record: Stored) => Stored;
  readonly sortKey: (record: Stored) => string;
}

/** A table whose records are listed, and held whole. */
export const listed = <Stored extends Owned>(): ListedWhole<Stored> => ({
  keep: (record: Stored) => record,
  sortKey: (record: Stored) => sortKeyOf(record),
});

export const openRecords = <Stored extends Owned>(
  records: Tables<Stored, Stored>,
  kind: 'machines' | 'workflows' | 'deployments' | 'schedules',
): Records<Stored> => {
  const keyOf = (org: string, id: string): string => `${kind}.${org}.${id}`;
  const read = oneAtATimeByKey(async (key) => (await records.get(key))?.value);
  const all: Records<Stored>['all'] = async (org) =>
    (await records.of(org).now()).newestFirst().map(({ value }) => value);
  return {
    get: (org, id) => read(keyOf(org, id)),
    all,
    page: async (org, span, matches) =>
      recordPage(
        await all(org),
        span,
        (record) => (record.archived ?? false) === span.archived && matches(record),
        sortKeyOf,
      ),
    find: async (org, matches) => {
      const [newest, ...others] = (await all(org)).filter(matches);
      return newest && { newest, others: others.length };
    },
    create: (record, refuse) => createRecord(records, keyOf(record.org_id, record.id), record, refuse),
    change: (org, id, decide) => changeRecord(records, keyOf(org, id), decide),
    remove: (org, id, refuse) => removeRecord(records, keyOf(org, id), refuse),
    put: async (record) => {
      await records.put(keyOf(record.org_id, record.id), record);
    },
  };
};

export interface RecordSpan {
  readonly archived: boolean;
  readonly limit: number;
  /** The sort key after which the page begins. */
  readonly after: string | undefined;
}

export interface RecordPage<Item> {
  readonly items: readonly Item[];
  /** The sort key after which the next page begins; undefined when nothing follows. */
  readonly end: string | undefined;
}

/** A page of the records that match, from all records, newest first. */
export const recordPage = <Item>(
  newestFirst: readonly Item[],
  { limit, after }: RecordSpan,
  matches: (item: Item) => boolean,
  sortKeyOf: (item: Item) => string,
): RecordPage<Item> => {
  const items: Item[] = [];
  for (const item of newestFirst) {
    if ((after !== undefined && sortKeyOf(item) >= after) || !matches(item)) continue;
    const last = items.at(-1);
    if (last && items.length === limit) return { items, end: sortKeyOf(last) };
    items.push(item);
  }
  return { items, end: undefined };
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
export interface RecordIdentity {
  readonly id: string;
  readonly org_id: string;
  readonly created_at: string;
}

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
