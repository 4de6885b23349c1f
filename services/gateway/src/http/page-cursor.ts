import type { JsonValue } from '@runledger/contracts/json';
import { isPlace, type Place } from '../views/place.ts';
import { invalid, type Invalid } from './problem.ts';

/** Where a page ended, as clients hand it back; what stands in it is no promise. Null when nothing follows. */
export const cursorAt = (end: Place | undefined): string | null =>
  end === undefined ? null : Buffer.from(end).toString('base64url');

/** The place behind which a page begins: undefined for the first one. What is wrong with it is added to `wrong`. */
export const readCursor = (
  value: JsonValue | undefined,
  loc: readonly string[],
  wrong: Invalid[],
): Place | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') {
    wrong.push(invalid(loc, 'string_type', 'Input should be a valid string'));
    return undefined;
  }
  const place = Buffer.from(value, 'base64url').toString();
  if (isPlace(place)) return place;
  wrong.push(invalid(loc, 'value_error', 'Value error, the cursor is none that a page gave as next_cursor'));
  return undefined;
};
