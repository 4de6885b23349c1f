import type { Listed } from './core/record-page.ts';

/** The records of one kind that an organisation has, by id and in the order of lists. */
export interface RecordIndex<Entry> {
  /** Changes with the index. */
  readonly newestFirst: readonly Entry[];
  /** Adds an entry, or replaces the entry with this id. */
  set(entry: Entry): void;
  delete(id: string): void;
}

export const recordIndex = <Entry extends Listed>(entries: readonly Entry[]): RecordIndex<Entry> => {
  const sortKeys = new Map(entries.map(({ id, sortKey }) => [id, sortKey]));
  const newestFirst = entries.toSorted((a, b) => (a.sortKey < b.sortKey ? 1 : -1));
  const remove = (id: string): void => {
    const sortKey = sortKeys.get(id);
    if (sortKey === undefined) return;
    sortKeys.delete(id);
    newestFirst.splice(indexOf(newestFirst, sortKey), 1);
  };
  return {
    newestFirst,
    delete: remove,
    set: (entry) => {
      remove(entry.id);
      sortKeys.set(entry.id, entry.sortKey);
      newestFirst.splice(indexOf(newestFirst, entry.sortKey), 0, entry);
    },
  };
};

/** How many entries come before a sort key. */
const indexOf = (newestFirst: readonly Listed[], sortKey: string): number => {
  let before = 0;
  let behind = newestFirst.length;
  for (; before < behind;) {
    const middle = Math.floor((before + behind) / 2);
    const at = newestFirst[middle];
    if (at !== undefined && at.sortKey > sortKey) before = middle + 1;
    else behind = middle;
  }
  return before;
};
