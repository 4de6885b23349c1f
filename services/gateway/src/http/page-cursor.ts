import { isRunId } from '@runledger/contracts/ids';
import type { RowPlace } from '../views/run-views.ts';

/** Where a page ended, as clients hand it back; what stands in it is no promise. */
export const cursorAt = ({ number, run_id }: RowPlace): string =>
  Buffer.from(`${number}.${run_id}`).toString('base64url');

/** Undefined for a text that no page gave. */
export const readCursor = (text: string): RowPlace | undefined => {
  const [number = '', run_id = '', ...rest] = Buffer.from(text, 'base64url').toString().split('.');
  if (rest.length > 0 || !/^\d{1,15}$/.test(number) || !isRunId(run_id)) return undefined;
  return { number: Number(number), run_id };
};
