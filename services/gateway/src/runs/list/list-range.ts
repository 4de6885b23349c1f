import { cursorProblems, decodeCursor } from '../../http/pagination.ts';
import type { Invalid } from '../../http/refusal.ts';
import { isSortKey, type ListRange, type SortKey } from '../../projection/core/sort-key.ts';

interface RangeFields {
  readonly created_after?: string | null | undefined;
  readonly created_before?: string | null | undefined;
}

/** The part of a list of runs that a request asks for: times of creation, and the sort key after which a page begins. */
export const listRange = (
  { created_after, created_before }: RangeFields,
  behind: SortKey | undefined,
): ListRange => ({
  ...(typeof created_after === 'string' ? { createdAfter: new Date(created_after) } : {}),
  ...(typeof created_before === 'string' ? { createdBefore: new Date(created_before) } : {}),
  ...(behind === undefined ? {} : { behind }),
});

/** The sort key after which a page begins; undefined for the first page. @throws TypeError for a cursor that `runCursorProblems` refuses */
export const sortKeyAt = (cursor: string | null | undefined): SortKey | undefined => {
  if (cursor === null || cursor === undefined) return undefined;
  const sortKey = decodeCursor(cursor);
  if (!isSortKey(sortKey)) throw new TypeError('A cursor was not checked before it was used');
  return sortKey;
};

/** Whether a cursor comes from a page of runs. */
export const runCursorProblems = (value: unknown, source: 'query' | 'body'): Invalid[] =>
  cursorProblems(value, source, isSortKey);
