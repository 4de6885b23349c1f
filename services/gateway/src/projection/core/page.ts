import type { SortKey } from './sort-key.ts';

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins, however few items this one has; undefined when nothing follows. */
  readonly end: SortKey | undefined;
}

export interface Listed<Item> {
  readonly item: Item;
  readonly sortKey: SortKey;
  /** How much of the page's size it takes. */
  readonly bytes: number;
}

/** The search stopped here. More items may follow. */
interface SearchEnd {
  readonly searchedTo: SortKey;
}

/** What a search yields, in the order of the list. */
export type Found<Item> = Listed<Item> | SearchEnd;

/** Of the items of one page, unless it has one only. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/**
 * A page of what a search finds, in its order: at most `limit` items and 8 MiB of them, but always one. It reads one item
 * more, to know whether another page follows. It ends early, even empty, where the search does.
 */
export const pageOf = async <Item>(
  found: Iterable<Found<Item>> | AsyncIterable<Found<Item>>,
  limit: number,
): Promise<Page<Item>> => {
  const items: Item[] = [];
  let pageBytes = 0;
  let end: SortKey | undefined;
  for await (const next of found) {
    if ('searchedTo' in next) return { items, end: next.searchedTo };
    const { item, sortKey, bytes } = next;
    pageBytes += bytes;
    const isFull = items.length >= Math.max(limit, 1) || (items.length > 0 && pageBytes > MAX_PAGE_BYTES);
    if (isFull) return { items, end };
    items.push(item);
    end = sortKey;
  }
  return { items, end: undefined };
};
