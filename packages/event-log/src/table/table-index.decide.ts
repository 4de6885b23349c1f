import type { Entry } from '../streams/bucket.ts';

/** By what records are found beside their key: what an index has for a value, one or several; undefined leaves the record out of it. */
export type Indexes<Kept, Name extends string> = Readonly<
  Record<Name, (value: Kept) => string | readonly string[] | undefined>
>;

/** A record in memory. */
export interface Row<Kept> extends Entry<Kept> {
  /** Of what is kept, as JSON. */
  readonly bytes: number;
}

/** The records of a table in memory. Everything is synchronous, and changes with the table at its next `now`. */
export interface TableIndex<Kept, Name extends string = never> {
  readonly size: number;
  /** Of all together, as JSON. In memory they take three times as much, and some 300 bytes for each record. */
  readonly bytes: number;
  get(key: string): Entry<Kept> | undefined;
  /** One that has this in an index, for an index in which no two records have the same. */
  by(index: Name, wanted: string): Entry<Kept> | undefined;
  /** All that have this in an index, in no order. */
  of(index: Name, wanted: string): readonly Entry<Kept>[];
  /** All records, in no order. */
  all(): Iterable<Entry<Kept>>;
  /** All records, the greatest sort key first; without sort keys the last one that was written. Sorted once after a change. */
  newestFirst(): readonly Entry<Kept>[];
}

export interface MutableTableIndex<Kept, Name extends string> extends TableIndex<Kept, Name> {
  /** Adds a record, or replaces the one with its key. */
  set(row: Row<Kept>): void;
  delete(key: string): void;
}

const NONE: readonly never[] = [];

export const tableIndex = <Kept, Name extends string>(
  sortKey?: (value: Kept) => string,
  indexes?: Indexes<Kept, Name>,
): MutableTableIndex<Kept, Name> => {
  const records = new Map<string, Row<Kept>>();
  const inIndexes = new Map<string, Map<string, Row<Kept>[]>>();
  const valuesOf = Object.entries<Indexes<Kept, Name>[Name]>(indexes ?? {});
  for (const [name] of valuesOf) inIndexes.set(name, new Map());
  let sorted: readonly Entry<Kept>[] | undefined;
  let bytes = 0;

  const remove = (key: string): void => {
    const entry = records.get(key);
    if (entry === undefined) return;
    records.delete(key);
    bytes -= entry.bytes;
    sorted = undefined;
    for (const [name, valuesIn] of valuesOf) {
      for (const wanted of listOf(valuesIn(entry.value))) {
        const found = inIndexes.get(name)?.get(wanted) ?? [];
        if (found.length === 1) inIndexes.get(name)?.delete(wanted);
        else found.splice(found.indexOf(entry), 1);
      }
    }
  };
  const of = (name: Name, wanted: string): readonly Entry<Kept>[] => inIndexes.get(name)?.get(wanted) ?? NONE;
  return {
    get size() {
      return records.size;
    },
    get bytes() {
      return bytes;
    },
    get: (key) => records.get(key),
    by: (name, wanted) => of(name, wanted)[0],
    of,
    all: () => records.values(),
    newestFirst: () => {
      sorted ??= Array.from(records.values(), (row) => ({ row, at: sortKey?.(row.value) ?? row.revision }))
        .sort((one, other) => (one.at < other.at ? 1 : -1))
        .map(({ row }) => row);
      return sorted;
    },
    set: (entry) => {
      remove(entry.key);
      records.set(entry.key, entry);
      bytes += entry.bytes;
      sorted = undefined;
      for (const [name, valuesIn] of valuesOf) {
        for (const wanted of listOf(valuesIn(entry.value))) {
          const found = inIndexes.get(name)?.get(wanted);
          if (found) found.push(entry);
          else inIndexes.get(name)?.set(wanted, [entry]);
        }
      }
    },
    delete: remove,
  };
};

const listOf = (wanted: string | readonly string[] | undefined): Iterable<string> =>
  typeof wanted === 'string' ? [wanted] : new Set(wanted);
