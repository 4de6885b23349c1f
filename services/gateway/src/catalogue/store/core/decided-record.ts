/** The decision on a change of a record. */
export type DecidedRecord<Stored, No> =
  | { readonly kind: 'changed'; readonly record: Stored }
  | { readonly kind: 'refused'; readonly why: No };

/** The members that every new record begins with. */
export interface RecordOrigin {
  readonly id: string;
  readonly org_id: string;
  readonly created_at: string;
}

/** A member that a request leaves out and so does not change. */
export type Omitted = null | undefined;
