import type { SortKey } from '../core/sort-key.ts';

/** Items in the order of their sort keys. */
export interface SortedList<Item> {
  add(item: Item): void;
  remove(item: Item): void;
  /** The items from the first text on and before the second, the last one first. */
  backwards(from: string, before: string | undefined): Generator<Item>;
}

/** A sorted array: nearly every run is newer than all others, and is appended. */
export const sortedList = <Item extends { readonly sortKey: SortKey }>(): SortedList<Item> => {
  const items: Item[] = [];
  /** How many items have a smaller sort key than the text. */
  const countBefore = (text: string): number => {
    let low = 0;
    let high = items.length;
    for (; low < high;) {
      const middle = (low + high) >>> 1;
      const item = items[middle];
      if (item && item.sortKey < text) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    add: (item) => {
      const last = items.at(-1);
      if (!last || last.sortKey < item.sortKey) items.push(item);
      else items.splice(countBefore(item.sortKey), 0, item);
    },
    remove: (item) => {
      const index = countBefore(item.sortKey);
      if (items[index] === item) items.splice(index, 1);
    },
    *backwards(from, before) {
      let index = before === undefined ? items.length : countBefore(before);
      for (index -= 1; index >= 0; index -= 1) {
        const item = items[index];
        if (!item || item.sortKey < from) return;
        yield item;
      }
    },
  };
};
