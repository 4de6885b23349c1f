import type { Collection, FindCursor, FindOptions } from 'mongodb';
import type { Found, Listed } from '../core/page.ts';
import { asSortKey, sortKeysIn, type SortKey, type SortKeyRange } from '../core/sort-key.ts';
import type { RunDocument } from './run-documents.ts';
import { filterOf, indexOf, NEWEST_FIRST, type ListQuery } from './run-queries.ts';

export interface ScanLimits {
  /** After this time the scan ends, however little it found. */
  readonly giveUpAfterMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** For each response of the server. */
  readonly maxTimeMS: number;
}

interface ListedDocuments<Item> {
  /** The most documents of each piece. */
  readonly limit: number;
  readonly projection?: Readonly<Record<string, 1>>;
  readonly toItem: (document: RunDocument) => Omit<Listed<Item>, 'sortKey'>;
}

/** How many documents the first piece has. Each piece has twice as many as the one before. */
const FIRST_PIECE = 500;
const MAX_PIECE = 8_000;

/**
 * What a query finds, newest first. One condition has an index that finds its documents, however few they are. With
 * several conditions, many documents may match each of them and none all of them. So the scan reads the index of the
 * first condition in pieces, each a range of sort keys. It checks the time after each piece.
 */
export const scanList = async function* <Item>(
  runs: Collection<RunDocument>,
  query: ListQuery,
  { limit, projection, toItem }: ListedDocuments<Item>,
  { giveUpAfterMs, clock, maxTimeMS }: ScanLimits,
): AsyncGenerator<Found<Item>, undefined> {
  const find = (range: SortKeyRange, options: FindOptions = {}) =>
    runs
      .find(filterOf(query, range), { maxTimeMS, ...(projection ? { projection } : {}), ...options })
      .sort(NEWEST_FIRST)
      .limit(limit)
      .map((document) => ({ ...toItem(document), sortKey: asSortKey(document.sort_key) }));
  const [first, ...others] = query.conditions;
  const whole = sortKeysIn(query.range);
  if (!first || others.length === 0) {
    yield* find(whole);
    return;
  }
  const byFirst = { ...query, conditions: [first] };
  const options = { maxTimeMS, hint: indexOf(first.field) };
  const began = clock();
  let rest = whole;
  for (let piece = FIRST_PIECE; ; piece = Math.min(2 * piece, MAX_PIECE)) {
    const end = await lastSortKey(piece, runs.find(filterOf(byFirst, rest), options));
    yield* find({ ...rest, from: end ?? rest.from }, options);
    if (end === undefined) return;
    if (clock() - began >= giveUpAfterMs) {
      yield { searchedTo: end };
      return;
    }
    rest = { ...rest, before: end };
  }
};

/** The sort key of the last of `count` documents, read from the index alone; undefined when there are fewer. */
const lastSortKey = async (count: number, found: FindCursor<RunDocument>): Promise<SortKey | undefined> => {
  const [last] = await found
    .project<Pick<RunDocument, 'sort_key'>>({ _id: 0, sort_key: 1 })
    .sort(NEWEST_FIRST)
    .skip(count - 1)
    .limit(1)
    .toArray();
  return last && asSortKey(last.sort_key);
};
