import type { OrgId } from '@runledger/contracts/ids';
import type { ActivityGroup, CountReader } from './counts.decide.ts';
import {
  FILTERS,
  type ActivityQuery,
  type FilterField,
  type Listed,
  type StoredList,
} from './list-query.decide.ts';
import type { ListPart } from './scan-list.ts';
import type { StoredRun } from './stored-run.decide.ts';

/** What is stored of some runs: each member is this value, or within all of these bounds. */
export type Where = { readonly [Field in keyof StoredRun]?: string | number | Bounds };

interface Bounds {
  readonly $gt?: string | number;
  readonly $gte?: string | number;
  readonly $lt?: string | number;
  readonly $in?: readonly string[];
}

export interface Index {
  /** What it is sorted by, and which way. */
  readonly key: Readonly<Partial<Record<keyof StoredRun, 1 | -1>>>;
  /** It has no others. A query repeats it, by which the database knows that the index has all that it asks for. */
  readonly only?: Where;
}

const newestFirst = (field: FilterField | 'run_id'): Index => ({
  key: { org_id: 1, [field]: 1, sort_key: -1 },
});

/** By what both databases find runs. SQLite has rows of their own for tags. */
export const INDEXES = {
  /** The whole list of an organisation. */
  by_sort_key: { key: { org_id: 1, sort_key: -1 } },
  /** Of one organisation, by the beginning of an id. */
  by_id: newestFirst('run_id'),
  ...(Object.fromEntries(FILTERS.map((field) => [`by_${field}`, newestFirst(field)])) as Readonly<
    Record<`by_${FilterField}`, Index>
  >),
  // The others, but for files and ends, are of all organisations, without the many runs that have nothing to do with them.
  by_status_alone: { key: { status: 1, sort_key: 1 } },
  unsettled: { key: { unsettled: 1, sort_key: 1 }, only: { unsettled: { $gt: 0 } } },
  /** The sum of bytes can be read from it alone. */
  with_files: { key: { org_id: 1, updated_at: 1, output_bytes: 1 }, only: { output_bytes: { $gt: 0 } } },
  /** What runs did that have ended is read from it alone. */
  ended: {
    key: { org_id: 1, ended_ms: 1, created_ms: 1, started_ms: 1, status: 1 },
    only: { ended_ms: { $gt: 0 } },
  },
  to_erase: { key: { to_erase: 1, run_id: 1 }, only: { to_erase: { $gt: 0 } } },
  deleted: { key: { to_erase: 1, updated_at: 1 }, only: { status: 'deleted' } },
} satisfies Readonly<Record<string, Index>>;
export type IndexName = keyof typeof INDEXES;

export const allIndexes = (): readonly (readonly [IndexName, Index])[] =>
  Object.entries<Index>(INDEXES) as [IndexName, Index][];

/** By which a part of a list is read, in its order; but for ids, of which there are few. */
export const indexOf = ({ org_id, conditions: [first], sought }: ListPart): IndexName => {
  if (sought?.kind === 'ids') return 'by_id';
  if (first === undefined) return 'by_sort_key';
  if (first.field === 'unsettled') return first.field;
  return org_id === undefined ? 'by_status_alone' : `by_${first.field}`;
};

/** Runs that are found by one index, or as the database likes. */
export interface StoredQuery {
  readonly index?: IndexName;
  readonly where: Where;
}

/** Some members of runs, in an order which the index has. */
export interface RowQuery extends StoredQuery {
  readonly fields: readonly (keyof StoredRun)[];
  readonly order: keyof StoredRun;
  readonly skip?: number;
  readonly limit: number;
  /** Nobody waits for them. */
  readonly isPatient?: boolean;
}

/** What a database does for lists, counts and sums. */
export interface ViewReader extends CountReader {
  /** Lets work take no longer than a client waits. */
  limited<Result>(work: () => Promise<Result>): Promise<Result>;
  /** The items of a part, or the first ones that fill a page. */
  find<Item>(
    part: ListPart,
    shown: StoredList<Item>,
    limit: number,
  ): Iterable<Listed<Item>> | AsyncIterable<Listed<Item>>;
  /** Only the fields of the query are there. */
  rows(query: RowQuery): Promise<readonly StoredRun[]>;
  /** Counts up to a number. */
  count(query: StoredQuery, atMost: number): Promise<number>;
  group(runs: StoredQuery, by: ActivityQuery): Promise<readonly ActivityGroup[]>;
  /** See `ListingViews`. */
  sumOutputBytes(orgId: OrgId, sinceDay: string): Promise<number>;
}
