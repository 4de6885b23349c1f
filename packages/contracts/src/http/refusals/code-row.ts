/** One code of a refusal: one cause with one remedy. */
export interface CodeRow {
  /** The HTTP status of every refusal with the code. */
  readonly status: number;
  /** What happened: plain English, one or two sentences. */
  readonly cause: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** Codes by their names, in the order of their statuses. */
export type CodeRows = Readonly<Record<string, CodeRow>>;
