interface Listable {
  readonly id: string;
  readonly created_at: string;
  readonly archived?: boolean;
}

/** What a list needs of a record to find it. */
export interface Listed {
  readonly id: string;
  /** The order of these texts is the order of creation and of every list. It never changes. */
  readonly sortKey: string;
  readonly archived: boolean;
}

export interface RecordSpan {
  readonly archived: boolean;
  readonly limit: number;
  /** The sort key after which the page begins. */
  readonly after: string | undefined;
}

export interface RecordPage<Item> {
  readonly items: readonly Item[];
  /** The sort key after which the next page begins; undefined when nothing follows. */
  readonly end: string | undefined;
}

export const listed = ({ id, created_at, archived = false }: Listable): Listed => ({
  id,
  sortKey: `${created_at}.${id}`,
  archived,
});

/** A page of the records that match, from all records, newest first. */
export const recordPage = <Entry extends Listed>(
  newestFirst: readonly Entry[],
  { limit, after }: Pick<RecordSpan, 'limit' | 'after'>,
  matches: (entry: Entry) => boolean,
): RecordPage<Entry> => {
  const items: Entry[] = [];
  for (const entry of newestFirst) {
    if ((after !== undefined && entry.sortKey >= after) || !matches(entry)) continue;
    if (items.length === limit) return { items, end: items.at(-1)?.sortKey };
    items.push(entry);
  }
  return { items, end: undefined };
};
