import type { Bucket } from '@runledger/event-log/streams/bucket';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import type { NumberedVersion } from '@runledger/contracts/catalogue/records';

/**
 * The records of one kind of an organisation, with every write that was acknowledged before the call. All records are read
 * once; from then on each call reads what was written since, which is usually nothing. A record that another gateway erased
 * is listed for up to ten minutes, which does no harm because callers read the record itself.
 */
interface KnownRecords<Entry> {
  /** Concurrent calls share one read. @throws {LogUnavailable} */
  now(): Promise<RecordIndex<Entry>>;
  /** How many records are in memory. */
  size(): number;
}

/** With more changes, reading all records again costs less. */
const MAX_CHANGES = 200;
/** An erased record leaves no write. */
const KNOWN_FOR_MS = 600_000;

export const knownRecords = <Stored, Entry extends Listed>(
  bucket: Bucket<Stored>,
  prefix: string,
  entryOf: (record: Stored) => Entry,
): KnownRecords<Entry> => {
  let known: Known<Entry> | undefined;

  const read = async (): Promise<Known<Entry>> => {
    const records = await bucket.list(prefix);
    return {
      readAt: performance.now(),
      index: recordIndex(records.map(({ value }) => entryOf(value))),
      upTo: records.reduce((last, { revision }) => Math.max(last, revision), 0),
    };
  };
  /** Whether the index now has every write that the bucket's leader has acknowledged. */
  const catchUp = async (behind: Known<Entry>): Promise<boolean> => {
    for (let changes = 0; changes < MAX_CHANGES; changes += 1) {
      const write = await bucket.nextWrite(prefix, behind.upTo);
      if (!write) return true;
      const entry = await bucket.get(write.key);
      if (entry) behind.index.set(entryOf(entry.value));
      else behind.index.delete(write.key.slice(prefix.length + 1));
      behind.upTo = write.revision;
    }
    return false;
  };

  const now = oneAtATime(async () => {
    if (known && performance.now() - known.readAt > KNOWN_FOR_MS) known = undefined;
    known ??= await read();
    if (await catchUp(known)) return known.index;
    known = await read();
    if (await catchUp(known)) return known.index;
    throw new LogUnavailable(
      `The records under ${prefix} changed faster than they could be read. Try again.`,
    );
  });
  return { now, size: () => known?.index.newestFirst.length ?? 0 };
};

interface Known<Entry> {
  readonly readAt: number;
  readonly index: RecordIndex<Entry>;
  /** The revision up to which every write is in the index. */
  upTo: number;
}

/** The records of one kind that an organisation has, by id and in the order of lists. */
interface RecordIndex<Entry> {
  /** Changes with the index. */
  readonly newestFirst: readonly Entry[];
  /** Adds an entry, or replaces the entry with this id. */
  set(entry: Entry): void;
  delete(id: string): void;
}

export const recordIndex = <Entry extends Listed>(entries: readonly Entry[]): RecordIndex<Entry> => {
  const sortKeys = new Map(entries.map(({ id, sortKey }) => [id, sortKey]));
  const newestFirst = entries.toSorted((a, b) => (a.sortKey < b.sortKey ? 1 : -1));
  const remove = (id: string): void => {
    const sortKey = sortKeys.get(id);
    if (sortKey === undefined) return;
    sortKeys.delete(id);
    newestFirst.splice(indexOf(newestFirst, sortKey), 1);
  };
  return {
    newestFirst,
    delete: remove,
    set: (entry) => {
      remove(entry.id);
      sortKeys.set(entry.id, entry.sortKey);
      newestFirst.splice(indexOf(newestFirst, entry.sortKey), 0, entry);
    },
  };
};

/** How many entries come before a sort key. */
const indexOf = (newestFirst: readonly Listed[], sortKey: string): number => {
  let before = 0;
  let behind = newestFirst.length;
  for (; before < behind;) {
    const middle = Math.floor((before + behind) / 2);
    const at = newestFirst[middle];
    if (at !== undefined && at.sortKey > sortKey) before = middle + 1;
    else behind = middle;
  }
  return before;
};

interface Listable {
  readonly id: string;
  readonly created_at: string;
  readonly archived?: boolean;
}

/** What a list needs of a record to find it. */
export interface Listed {
  readonly id: string;
  /** The order of these texts is the order of creation and of every list. It never changes. */
  readonly sortKey: string;
  readonly archived: boolean;
}

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

export const listed = ({ id, created_at, archived = false }: Listable): Listed => ({
  id,
  sortKey: `${created_at}.${id}`,
  archived,
});

/** A page of the records that match, from all records, newest first. */
export const recordPage = <Entry extends Listed>(
  newestFirst: readonly Entry[],
  { limit, after }: RecordSpan,
  matches: (entry: Entry) => boolean,
): RecordPage<Entry> => {
  const items: Entry[] = [];
  for (const entry of newestFirst) {
    if ((after !== undefined && entry.sortKey >= after) || !matches(entry)) continue;
    if (items.length === limit) return { items, end: items.at(-1)?.sortKey };
    items.push(entry);
  }
  return { items, end: undefined };
};

/** The version with a number; undefined when it does not exist, or no longer. @throws {LogUnavailable} */
type AtNumber = (number: number) => Promise<NumberedVersion | undefined>;

export interface NumberedSpan {
  readonly limit: number;
  readonly archived: boolean;
  /** Only versions with a smaller number. */
  readonly below?: number;
}

export interface NumberedPage {
  /** Newest first. There may be fewer than the limit although others follow. */
  readonly versions: readonly NumberedVersion[];
  /** The next page has smaller numbers than this; undefined when nothing follows. */
  readonly below: number | undefined;
}

const MAX_READS = 1_000;

/** Reads from the newest number downwards, so that a page costs the same however many versions there are. */
export const numberedPage = async (
  at: AtNumber,
  { limit, archived, below, newest }: NumberedSpan & { readonly newest: number },
): Promise<NumberedPage> => {
  const first = Math.min(below === undefined ? newest : below - 1, newest);
  const versions: NumberedVersion[] = [];
  for (let from = first; from > 0; from -= limit) {
    if (first - from >= MAX_READS) return { versions, below: from + 1 };
    const numbers = Array.from({ length: Math.min(limit, from) }, (_, index) => from - index);
    for (const version of await Promise.all(numbers.map(at))) {
      if (version?.archived !== archived) continue;
      const last = versions.at(-1);
      if (last && versions.length === limit) return { versions, below: last.number };
      versions.push(version);
    }
  }
  return { versions, below: undefined };
};

/** A cache of one organisation, which grows. */
interface Sized {
  size(): number;
}

/** Counted for an organisation whose cache is empty. */
const LEAST_SIZE = 100;

/**
 * One cache for each organisation, made at its first use. While all caches together are larger than `most`, the least
 * recently used one is forgotten; a single one may be larger. lru-cache would take the size of each only once, when it is
 * set, and these grow later.
 */
export const recentOrganisations = <Kept extends Sized>(
  most: number,
  make: (org: string) => Kept,
): { of(org: string): Kept; forgetAll(): void } => {
  /** In the order of their last use. */
  const kept = new Map<string, Kept>();
  return {
    of: (org) => {
      const one = kept.get(org) ?? make(org);
      kept.delete(org);
      let size = sizeOf(one);
      for (const other of kept.values()) size += sizeOf(other);
      for (const [oldest, other] of kept) {
        if (size <= most) break;
        kept.delete(oldest);
        size -= sizeOf(other);
      }
      kept.set(org, one);
      return one;
    },
    forgetAll: () => kept.clear(),
  };
};

const sizeOf = (kept: Sized): number => Math.max(LEAST_SIZE, kept.size());
