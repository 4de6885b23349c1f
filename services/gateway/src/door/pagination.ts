import { own } from './compiled.ts';
import type { ExtraCheck } from './operation.ts';
import { invalid } from './refusal.ts';

/** Items on a page when the request does not say how many. */
export const DEFAULT_LIMIT = 20;

/** The sort key at which a page ended, as clients send it back. Its content is no part of the API. Null when nothing follows. */
export const cursorAt = (sortKey: string | undefined): string | null =>
  sortKey === undefined ? null : Buffer.from(sortKey).toString('base64url');

/** The sort key in a cursor. */
export const decodeCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString();

/** Checks that the cursor in the query, or in the body, holds a sort key of the list. One that is not a string is left to the schema. */
export const checkCursor =
  (isSortKey: (text: string) => boolean, source: 'query' | 'body' = 'query'): ExtraCheck =>
  (request) => {
    const value = own(request[source], 'cursor');
    if (typeof value !== 'string' || isSortKey(decodeCursor(value))) return [];
    const why = 'The cursor is invalid: use `next_cursor` of an earlier page';
    return [invalid([source, 'cursor'], 'value_error', why)];
  };
