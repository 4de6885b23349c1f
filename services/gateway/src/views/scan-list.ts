import type { FieldCondition, ListQuery, Found, Listed } from './list-query.decide.ts';
import type { Sought } from './run-search.decide.ts';
import { sortKeysIn, type SortKey, type SortKeyRange } from './sort-key.decide.ts';

/** The part of an organisation's list that matches all conditions. Ids, its first condition, or the list itself are an index. */
export interface ListPart {
  readonly org_id: string;
  /** Each has a value. */
  readonly conditions: readonly FieldCondition[];
  readonly sought?: Sought | undefined;
  readonly range: SortKeyRange;
}

/** How a database reads lists, newest first. */
export interface ListReader<Item> {
  /** The items of a part, or the first ones that fill a page. */
  find(part: ListPart): Iterable<Listed<Item>> | AsyncIterable<Listed<Item>>;
  /** The sort key of the last of the first `count` runs of a part; undefined when there are fewer. */
  sortKeyAt(part: ListPart, count: number): Promise<SortKey | undefined>;
}

export interface ScanLimits {
  /** After this time the scan ends, however little it found. */
  readonly giveUpAfterMs: number;
  /** The same of a search. */
  readonly giveUpSearchAfterMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** How many runs the first piece has. Each piece has twice as many as the one before. */
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
  const whole = sortKeysIn(range);
  const isIndex = sought ? sought.kind === 'ids' : conditions.length <= 1;
  if (isIndex) {
    yield* reader.find({ org_id, conditions, sought, range: whole });
    return;
  }
  const endsAfterMs = sought ? giveUpSearchAfterMs : giveUpAfterMs;
  const began = clock();
  let rest = whole;
  for (let piece = FIRST_PIECE; ; piece = Math.min(2 * piece, MAX_PIECE)) {
    const end = await reader.sortKeyAt({ org_id, conditions: conditions.slice(0, 1), range: rest }, piece);
    yield* reader.find({ org_id, conditions, sought, range: { ...rest, from: end ?? rest.from } });
    if (end === undefined) return;
    if (clock() - began >= endsAfterMs) {
      yield { searchedTo: end };
      return;
    }
    rest = { ...rest, before: end };
  }
};
