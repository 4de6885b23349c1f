import { own } from './compiled.ts';
import type { ExtraCheck } from './operation.ts';
import { invalid, type Invalid } from './refusal.ts';

/** Items on a page when the request does not say how many. */
export const DEFAULT_LIMIT = 20;

/** The sort key at which a page ended, as clients send it back. Its content is no part of the API. Null when nothing follows. */
export const cursorAt = (sortKey: string | undefined): string | null =>
  sortKey === undefined ? null : Buffer.from(sortKey).toString('base64url');

/** The sort key in a cursor. */
export const decodeCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString();

/** Whether a cursor holds a sort key of the list. A cursor that is not a string is left to the schema. */
export const cursorProblems = (
  value: unknown,
  source: 'query' | 'body',
  isSortKey: (text: string) => boolean,
): Invalid[] =>
  typeof value !== 'string' || isSortKey(decodeCursor(value))
    ? []
    : [
        invalid(
          [source, 'cursor'],
          'value_error',
          'The cursor is invalid: use `next_cursor` of an earlier page',
        ),
      ];

/** Checks the cursor in the query, or in the body, of a list. */
export const checkCursor =
  (isSortKey: (text: string) => boolean, source: 'query' | 'body' = 'query'): ExtraCheck =>
  (request) =>
    cursorProblems(own(request[source], 'cursor'), source, isSortKey);
