import type { Listed } from './core/record-page.ts';

/** The records of one kind that an organisation has, by id and in the order of lists. */
export interface RecordIndex<Entry> {
  /** Changes as the index does. */
  readonly newestFirst: readonly Entry[];
  /** Adds it, or puts it in the place of what was known of this id. */
  set(entry: Entry): void;
  delete(id: string): void;
}

export const recordIndex = <Entry extends Listed>(entries: readonly Entry[]): RecordIndex<Entry> => {
  const places = new Map(entries.map(({ id, sortKey: place }) => [id, place]));
  const newestFirst = entries.toSorted((a, b) => (a.sortKey < b.sortKey ? 1 : -1));
  const remove = (id: string): void => {
    const place = places.get(id);
    if (place === undefined) return;
    places.delete(id);
    newestFirst.splice(positionOf(newestFirst, place), 1);
  };
  return {
    newestFirst,
    delete: remove,
    set: (entry) => {
      remove(entry.id);
      places.set(entry.id, entry.sortKey);
      newestFirst.splice(positionOf(newestFirst, entry.sortKey), 0, entry);
    },
  };
};

/** How many stand before a place. */
const positionOf = (newestFirst: readonly Listed[], place: string): number => {
  let before = 0;
  let behind = newestFirst.length;
  for (; before < behind;) {
    const middle = Math.floor((before + behind) / 2);
    const at = newestFirst[middle];
    if (at !== undefined && at.sortKey > place) before = middle + 1;
    else behind = middle;
  }
  return before;
};
