import { performance } from 'node:perf_hooks';
import type { Collection, FindCursor, FindOptions } from 'mongodb';
import { sortKeyOfDocument, type RunDocument } from './run-documents.ts';
import { filterOf, indexOf, NEWEST_FIRST, type ListQuery } from './run-queries.ts';
import type { Found, Listed } from '../core/page.ts';
import { asSortKey, sortKeysIn, type SortKey, type SortKeyRange } from '../core/sort-key.ts';

export interface ScanLimits {
  /** How many documents are looked at before the time is; then twice as many, and so on. */
  readonly firstPiece: number;
  /** After so long the search ends, however little was found. */
  readonly giveUpAfterMs: number;
  /** For one answer of the server. */
  readonly maxTimeMS: number;
}

interface Shown<Item> {
  /** At most so many of each piece. */
  readonly limit: number;
  readonly projection?: Readonly<Record<string, 1>>;
  readonly show: (document: RunDocument) => Omit<Listed<Item>, 'sortKey'>;
}

const MOST_AT_ONCE = 8_000;

/**
 * What is asked for, newest first. By one field its index finds it, however rare it is. Of several, each may fit very many
 * and all of them none: the index of the first is gone through piece by piece, each of which is a range of places, and the
 * search ends after a while where a piece does.
 */
export const scanList = async function* <Item>(
  runs: Collection<RunDocument>,
  asked: ListQuery,
  { limit, projection, show }: Shown<Item>,
  { firstPiece: atFirst, giveUpAfterMs: forMs, maxTimeMS }: ScanLimits,
): AsyncGenerator<Found<Item>, undefined> {
  const found = (range: SortKeyRange, how: FindOptions = {}) =>
    runs
      .find(filterOf(asked, range), { maxTimeMS, ...(projection ? { projection } : {}), ...how })
      .sort(NEWEST_FIRST)
      .limit(limit)
      .map((document) => ({ ...show(document), sortKey: sortKeyOfDocument(document) }));
  const [first, ...others] = asked.fields;
  const whole = sortKeysIn(asked.span);
  if (!first || others.length === 0) {
    yield* found(whole);
    return;
  }
  const way = { ...asked, fields: [first] };
  const options = { maxTimeMS, hint: indexOf(first.field) };
  const begun = performance.now();
  let rest = whole;
  for (let piece = atFirst; ; piece = Math.min(2 * piece, MOST_AT_ONCE)) {
    const end = await placeAfter(piece, runs.find(filterOf(way, rest), options));
    yield* found({ ...rest, from: end ?? rest.from }, options);
    if (end === undefined) return;
    if (performance.now() - begun >= forMs) {
      yield { lookedTo: end };
      return;
    }
    rest = { ...rest, before: end };
  }
};

/** The place of the last one of so many documents, read from the index alone; undefined where there are fewer. */
const placeAfter = async (count: number, found: FindCursor<RunDocument>): Promise<SortKey | undefined> => {
  const [last] = await found
    .project<Pick<RunDocument, 'place'>>({ _id: 0, place: 1 })
    .sort(NEWEST_FIRST)
    .skip(count - 1)
    .limit(1)
    .toArray();
  return last?.place === undefined ? undefined : asSortKey(last.place);
};
