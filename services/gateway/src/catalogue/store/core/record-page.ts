interface Listable {
  readonly id: string;
  readonly created_at: string;
  readonly archived?: boolean;
}

/** What lists must know of a record to find it. */
export interface Listed {
  readonly id: string;
  /** The order of these texts is the order of creation, and that of every list. It never changes. */
  readonly sortKey: string;
  readonly archived: boolean;
}

export interface RecordSpan {
  readonly archived: boolean;
  readonly limit: number;
  /** The place behind which the page begins. */
  readonly after: string | undefined;
}

export interface RecordPage<Item> {
  readonly items: readonly Item[];
  /** The place behind which the next page begins; undefined when nothing follows. */
  readonly end: string | undefined;
}

export const listed = ({ id, created_at, archived = false }: Listable): Listed => ({
  id,
  sortKey: `${created_at}.${id}`,
  archived,
});

/** A page of the records that belong on it, of all that are given newest first. */
export const recordPage = <Entry extends Listed>(
  newestFirst: readonly Entry[],
  { limit, after: behind }: Pick<RecordSpan, 'limit' | 'after'>,
  isOn: (entry: Entry) => boolean,
): RecordPage<Entry> => {
  const items: Entry[] = [];
  for (const entry of newestFirst) {
    if ((behind !== undefined && entry.sortKey >= behind) || !isOn(entry)) continue;
    if (items.length === limit) return { items, end: items.at(-1)?.sortKey };
    items.push(entry);
  }
  return { items, end: undefined };
};
