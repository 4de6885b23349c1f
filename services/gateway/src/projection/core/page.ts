import type { SortKey } from './sort-key.ts';

/** What one answer of a list holds. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Behind which the next page begins, however few are on this one; undefined when nothing follows. */
  readonly end: SortKey | undefined;
}

export interface Listed<Item> {
  readonly item: Item;
  readonly sortKey: SortKey;
  /** What it weighs in a page, in bytes. */
  readonly bytes: number;
}

/** What is looked at ends here: something that is asked for may stand behind it. */
interface LookedTo {
  readonly lookedTo: SortKey;
}

/** What a search comes to, in the order of the list. */
export type Found<Item> = Listed<Item> | LookedTo;

const MOST_BYTES = 8 * 1024 * 1024;

/**
 * A page of what was found, in order: at most `limit`, and of what is large only as much as weighs 8 MiB, but always one.
 * Whether another page follows is seen by what was found behind it. It ends early, even empty, where the search does.
 */
export const pageOf = async <Item>(
  found: Iterable<Found<Item>> | AsyncIterable<Found<Item>>,
  limit: number,
): Promise<Page<Item>> => {
  const items: Item[] = [];
  let weight = 0;
  let end: SortKey | undefined;
  for await (const next of found) {
    if ('lookedTo' in next) return { items, end: next.lookedTo };
    const { item, sortKey: place, bytes } = next;
    weight += bytes;
    if (items.length >= Math.max(limit, 1) || (items.length > 0 && weight > MOST_BYTES))
      return { items, end };
    items.push(item);
    end = place;
  }
  return { items, end: undefined };
};
