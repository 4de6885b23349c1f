/** What becomes of a record that somebody wants changed. */
export type DecidedRecord<Stored, No> =
  | { readonly kind: 'changed'; readonly record: Stored }
  | { readonly kind: 'refused'; readonly why: No };

/** What a new record is given, whatever it is of. */
export interface RecordOrigin {
  readonly id: string;
  readonly org_id: string;
  readonly created_at: string;
}

/** A member that a request left out, and so does not change. */
export type Omitted = null | undefined;
