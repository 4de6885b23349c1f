import type { ByIdQuery, FieldCondition, ListQuery, Found, Listed, Page } from './list-query.decide.ts';
import type { StoredView } from './run-view.ts';
import type { Sought } from './run-search.decide.ts';
import { sortKeysIn, type SortKey, type SortKeyRange } from './sort-key.decide.ts';

/** The part of a list that matches all conditions. Ids, its first condition, or the list itself are an index. */
export interface ListPart {
  /** Left out for all organisations. */
  readonly org_id?: string;
  /** Each has a value. */
  readonly conditions: readonly FieldCondition[];
  readonly sought?: Sought | undefined;
  readonly range: SortKeyRange;
  /** The newest come first otherwise. */
  readonly isOldestFirst?: boolean;
}

export interface SortKeyReader {
  /** The sort key of the last of the first `count` runs of a part; undefined when there are fewer. */
  readonly sortKeyAt: (part: ListPart, count: number) => Promise<SortKey | undefined>;
}

/** How a database reads lists, newest first. */
export interface ListReader<Item> extends SortKeyReader {
  /** The items of a part, or the first ones that fill a page. */
  find(part: ListPart): Iterable<Listed<Item>> | AsyncIterable<Listed<Item>>;
}

export interface ScanLimits {
  /** After this time the scan ends, however little it found. */
  readonly giveUpAfterMs: number;
  /** The same of a search. */
  readonly giveUpSearchAfterMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

interface Piece {
  readonly part: ListPart;
  /** Its last sort key; undefined for the last piece. */
  readonly end: SortKey | undefined;
}

/** A part in pieces, the newest first. The index by which it is read has so many runs of the first, and twice as many of each later one, up to `most`. */
export const inPieces = async function* (
  reader: SortKeyReader,
  whole: ListPart,
  first: number,
  most = first,
): AsyncGenerator<Piece, undefined> {
  const { org_id, conditions, sought } = whole;
  const index = sought?.kind === 'ids' ? { conditions: [], sought } : { conditions: conditions.slice(0, 1) };
  let { range } = whole;
  for (let count = first; ; count = Math.min(2 * count, most)) {
    const end = await reader.sortKeyAt({ ...(org_id && { org_id }), ...index, range }, count);
    yield { part: { ...whole, range: { ...range, from: end ?? range.from } }, end };
    if (end === undefined) return;
    range = { ...range, before: end };
  }
};

const FIRST_PIECE = 500;
const MAX_PIECE = 8_000;

/**
 * What a query finds, newest first. A condition without values matches nothing. One condition has an index that finds its runs, however few they are. With several
 * conditions, or for a search, many runs may match each of them and none all of them. So the scan reads the index of the first condition,
 * or the list, in pieces, each a range of sort keys. It checks the time after each piece.
 */
export const scanList = async function* <Item>(
  reader: ListReader<Item>,
  { org_id, conditions, sought, range }: ListQuery,
  { giveUpAfterMs, giveUpSearchAfterMs, clock }: ScanLimits,
): AsyncGenerator<Found<Item>, undefined> {
  if (conditions.some(({ values }) => values.length === 0)) return;
  const whole = { org_id, conditions, sought, range: sortKeysIn(range) };
  const isIndex = sought ? sought.kind === 'ids' : conditions.length <= 1;
  if (isIndex) {
    yield* reader.find(whole);
    return;
  }
  const endsAfterMs = sought ? giveUpSearchAfterMs : giveUpAfterMs;
  const began = clock();
  for await (const { part, end } of inPieces(reader, whole, FIRST_PIECE, MAX_PIECE)) {
    yield* reader.find(part);
    if (end === undefined || clock() - began < endsAfterMs) continue;
    yield { searchedTo: end };
    return;
  }
};

/** A page of views takes a process some milliseconds. */
export const VIEWS_AT_ONCE = 500;

/** All that such a list has, in the order of run ids. */
export async function* everyView(
  list: (query: ByIdQuery) => Promise<readonly StoredView[]>,
): AsyncGenerator<StoredView> {
  for (let after = ''; ;) {
    const views = await list({ after, limit: VIEWS_AT_ONCE });
    yield* views;
    const last = views.at(-1);
    if (!last) return;
    after = last.run.run_id;
  }
}

/** A list page by page, to its end. `behind`: undefined for the first page. */
export async function* everyPage<Item>(
  list: (behind: SortKey | undefined) => Promise<Page<Item>>,
): AsyncGenerator<readonly Item[]> {
  let behind: SortKey | undefined;
  do {
    const { items, end } = await list(behind);
    yield items;
    behind = end;
  } while (behind !== undefined);
}
