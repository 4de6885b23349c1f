import { pagesOf } from '../api/pages-of.ts';

/** What a page of a redelivery answers. */
interface Page {
  readonly matched: number;
  readonly requested: number;
  readonly next_cursor: string | null;
}

export interface Total {
  readonly matched: number;
  readonly requested: number;
  /** Where to go on when there are more pages than were asked for; null when that was all. */
  readonly next: string | null;
}

/** Sends page after page, at most `most` of them, and tells the total after each. */
export const redeliverPages = async (
  send: (cursor: string | undefined) => Promise<Page>,
  most: number,
  onPage: (total: Total) => void = () => undefined,
): Promise<Total> => {
  let total: Total = { matched: 0, requested: 0, next: null };
  for await (const { matched, requested, next_cursor } of pagesOf(send, most)) {
    total = {
      matched: total.matched + matched,
      requested: total.requested + requested,
      next: next_cursor,
    };
    onPage(total);
  }
  return total;
};
