import { isSortKey, type SortKey } from '../projection/core/sort-key.ts';
import { invalid, type Invalid } from './refusal.ts';

/** Where a page ended, as clients hand it back; what stands in it is no promise. Null when nothing follows. */
export const cursorAt = (end: string | undefined): string | null =>
  end === undefined ? null : Buffer.from(end).toString('base64url');

/** The place behind which a page begins: undefined for the first one. @throws for a cursor that `cursorProblems` refuses */
export const sortKeyAt = (cursor: string | null | undefined): SortKey | undefined => {
  if (cursor === null || cursor === undefined) return undefined;
  const place = decoded(cursor);
  if (!isSortKey(place)) throw new TypeError('A cursor was not checked before it was used');
  return place;
};

/** Whether a cursor is one that a page of runs, or of what `isEnd` says, gave; what is no text is left to the schema. */
export const cursorProblems = (
  value: unknown,
  source: 'query' | 'body',
  isEnd: (text: string) => boolean = isSortKey,
): Invalid[] =>
  typeof value !== 'string' || isEnd(decoded(value))
    ? []
    : [
        invalid(
          [source, 'cursor'],
          'value_error',
          'Value error, the cursor is none that a page gave as next_cursor',
        ),
      ];

/** What stands in a cursor. */
export const decoded = (cursor: string): string => Buffer.from(cursor, 'base64url').toString();
