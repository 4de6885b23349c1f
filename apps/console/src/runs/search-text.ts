/** What the API takes. */
const LONGEST = 200;

/** A search in the query of an address or in a field, as it is requested; undefined for none. A router reads digits as a number. */
export const searchIn = (value: unknown): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  // A cut through a character would leave half of it.
  const text = Array.from(String(value).trim()).slice(0, LONGEST).join('').trim();
  return text === '' ? undefined : text;
};

/** Where a search stopped before it had filled a page; undefined when it did not. */
export const stoppedAt = (page: {
  readonly rows: { readonly length: number };
  readonly next: string | null;
  readonly searchedTo: string | null;
  readonly size: number;
}): string | undefined =>
  page.next !== null && page.searchedTo !== null && page.rows.length < page.size
    ? page.searchedTo
    : undefined;
