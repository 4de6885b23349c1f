import type { Place } from './place.ts';

/** What one answer of a list holds. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Behind which the next page begins; undefined when nothing follows. */
  readonly end: Place | undefined;
}

interface Listed<Item> {
  readonly item: Item;
  readonly place: Place;
  /** What it weighs in a page, in bytes. */
  readonly bytes: number;
}

const MOST_BYTES = 8 * 1024 * 1024;

/**
 * A page of what was found, in order: at most `limit`, and of what is large only as much as weighs 8 MiB, but always one.
 * Whether another page follows is seen by what was found behind it.
 */
export const pageOf = async <Item>(
  found: Iterable<Listed<Item>> | AsyncIterable<Listed<Item>>,
  limit: number,
): Promise<Page<Item>> => {
  const items: Item[] = [];
  let weight = 0;
  let end: Place | undefined;
  for await (const { item, place, bytes } of found) {
    weight += bytes;
    if (items.length >= Math.max(limit, 1) || (items.length > 0 && weight > MOST_BYTES))
      return { items, end };
    items.push(item);
    end = place;
  }
  return { items, end: undefined };
};
