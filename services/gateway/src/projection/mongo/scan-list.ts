import { performance } from 'node:perf_hooks';
import type { Collection, FindCursor, FindOptions } from 'mongodb';
import { placeOfDocument, type RunDocument } from './run-documents.ts';
import { documentsOf, indexOf, NEWEST_FIRST, type Asked } from './run-queries.ts';
import type { Found, Listed } from '../core/page.ts';
import { asPlace, placesIn, type Place, type PlaceRange } from '../core/sort-key.ts';

export interface Looking {
  /** How many documents are looked at before the time is; then twice as many, and so on. */
  readonly atFirst: number;
  /** After so long the search ends, however little was found. */
  readonly forMs: number;
  /** For one answer of the server. */
  readonly maxTimeMS: number;
}

interface Shown<Item> {
  /** At most so many of each piece. */
  readonly limit: number;
  readonly projection?: Readonly<Record<string, 1>>;
  readonly show: (document: RunDocument) => Omit<Listed<Item>, 'place'>;
}

const MOST_AT_ONCE = 8_000;

/**
 * What is asked for, newest first. By one field its index finds it, however rare it is. Of several, each may fit very many
 * and all of them none: the index of the first is gone through piece by piece, each of which is a range of places, and the
 * search ends after a while where a piece does.
 */
export const lookThrough = async function* <Item>(
  runs: Collection<RunDocument>,
  asked: Asked,
  { limit, projection, show }: Shown<Item>,
  { atFirst, forMs, maxTimeMS }: Looking,
): AsyncGenerator<Found<Item>, undefined> {
  const found = (range: PlaceRange, how: FindOptions = {}) =>
    runs
      .find(documentsOf(asked, range), { maxTimeMS, ...(projection ? { projection } : {}), ...how })
      .sort(NEWEST_FIRST)
      .limit(limit)
      .map((document) => ({ ...show(document), place: placeOfDocument(document) }));
  const [first, ...others] = asked.fields;
  const whole = placesIn(asked.span);
  if (!first || others.length === 0) {
    yield* found(whole);
    return;
  }
  const way = { ...asked, fields: [first] };
  const options = { maxTimeMS, hint: indexOf(first.field) };
  const begun = performance.now();
  let rest = whole;
  for (let piece = atFirst; ; piece = Math.min(2 * piece, MOST_AT_ONCE)) {
    const end = await placeAfter(piece, runs.find(documentsOf(way, rest), options));
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
const placeAfter = async (count: number, found: FindCursor<RunDocument>): Promise<Place | undefined> => {
  const [last] = await found
    .project<Pick<RunDocument, 'place'>>({ _id: 0, place: 1 })
    .sort(NEWEST_FIRST)
    .skip(count - 1)
    .limit(1)
    .toArray();
  return last?.place === undefined ? undefined : asPlace(last.place);
};
