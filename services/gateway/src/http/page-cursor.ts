import { isRunId } from '@runledger/contracts/ids';
import type { JsonValue } from '@runledger/contracts/json';
import type { RowPlace } from '../views/run-views.ts';
import { invalid, type Invalid } from './problem.ts';

/** Where a page ended, as clients hand it back; what stands in it is no promise. */
export const cursorAt = ({ number, run_id }: RowPlace): string =>
  Buffer.from(`${number}.${run_id}`).toString('base64url');

/** The place behind which a page begins: undefined for the first one. What is wrong with it is added to `wrong`. */
export const readCursor = (
  value: JsonValue | undefined,
  loc: readonly string[],
  wrong: Invalid[],
): RowPlace | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') {
    wrong.push(invalid(loc, 'string_type', 'Input should be a valid string'));
    return undefined;
  }
  const place = placeOf(value);
  if (!place) {
    const msg = 'Value error, the cursor is none that a page gave as next_cursor';
    wrong.push(invalid(loc, 'value_error', msg));
  }
  return place;
};

/** Undefined for a text that no page gave. */
const placeOf = (text: string): RowPlace | undefined => {
  const [number = '', run_id = '', ...rest] = Buffer.from(text, 'base64url').toString().split('.');
  if (rest.length > 0 || !/^\d{1,15}$/.test(number) || !isRunId(run_id)) return undefined;
  return { number: Number(number), run_id };
};
