interface Listed {
  readonly id: string;
  readonly created_at: string;
  readonly archived?: boolean;
}

export interface RecordSpan {
  readonly archived: boolean;
  readonly limit: number;
  /** The place behind which the page begins. */
  readonly behind: string | undefined;
}

export interface RecordPage<Stored> {
  readonly items: readonly Stored[];
  /** The place behind which the next page begins; undefined when nothing follows. */
  readonly end: string | undefined;
}

/** Where a record stands in every list: the order of these texts is that of creation. It never changes. */
const placeOfRecord = ({ created_at, id }: Listed): string => `${created_at}.${id}`;

/** A page of records, newest first. */
export const recordPage = <Stored extends Listed>(
  records: readonly Stored[],
  { archived, limit, behind }: RecordSpan,
): RecordPage<Stored> => {
  const following = records
    .map((record) => ({ record, place: placeOfRecord(record) }))
    .filter(
      ({ record, place }) =>
        (record.archived ?? false) === archived && !(behind !== undefined && place >= behind),
    )
    .sort((a, b) => (a.place < b.place ? 1 : -1));
  const page = following.slice(0, limit);
  const last = following.length > page.length ? page.at(-1) : undefined;
  return { items: page.map(({ record }) => record), end: last?.place };
};
