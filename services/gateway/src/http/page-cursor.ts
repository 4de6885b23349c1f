import { isPlace, type Place } from '../views/place.ts';
import { invalid, type Invalid } from './problem.ts';

/** Where a page ended, as clients hand it back; what stands in it is no promise. Null when nothing follows. */
export const cursorAt = (end: Place | undefined): string | null =>
  end === undefined ? null : Buffer.from(end).toString('base64url');

/** The place behind which a page begins: undefined for the first one. @throws for a cursor that `cursorProblems` refuses */
export const placeAt = (cursor: string | null | undefined): Place | undefined => {
  if (cursor === null || cursor === undefined) return undefined;
  const place = decoded(cursor);
  if (!isPlace(place)) throw new TypeError('A cursor was not checked before it was used');
  return place;
};

/** Whether a cursor is one that a page gave; what is no text is left to the schema. */
export const cursorProblems = (value: unknown, source: 'query' | 'body'): Invalid[] =>
  typeof value !== 'string' || isPlace(decoded(value))
    ? []
    : [
        invalid(
          [source, 'cursor'],
          'value_error',
          'Value error, the cursor is none that a page gave as next_cursor',
        ),
      ];

const decoded = (cursor: string): string => Buffer.from(cursor, 'base64url').toString();
