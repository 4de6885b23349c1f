import type { SortKey } from '../core/sort-key.ts';

/** Things in the order of their places. */
export interface SortedList<Thing> {
  add(thing: Thing): void;
  remove(thing: Thing): void;
  /** Those from the first text on and before the second, the last one first. */
  backwards(from: string, before: string | undefined): Generator<Thing>;
}

/** A sorted array: nearly every run is newer than all that are there, and is put at the end. */
export const sortedList = <Thing extends { readonly place: SortKey }>(): SortedList<Thing> => {
  const things: Thing[] = [];
  /** How many stand before the text. */
  const countBefore = (text: string): number => {
    let low = 0;
    let high = things.length;
    for (; low < high;) {
      const middle = (low + high) >>> 1;
      const thing = things[middle];
      if (thing && thing.place < text) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    add: (thing) => {
      const last = things.at(-1);
      if (!last || last.place < thing.place) things.push(thing);
      else things.splice(countBefore(thing.place), 0, thing);
    },
    remove: (thing) => {
      const index = countBefore(thing.place);
      if (things[index] === thing) things.splice(index, 1);
    },
    *backwards(from, before) {
      let index = before === undefined ? things.length : countBefore(before);
      for (index -= 1; index >= 0; index -= 1) {
        const thing = things[index];
        if (!thing || thing.place < from) return;
        yield thing;
      }
    },
  };
};
