/* oxlint-disable no-restricted-globals -- it parses and writes times; the clock is not read */
import { isRunId } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';

declare const brand: unique symbol;
/**
 * Where a run stands in every list: its creation, its number and its id in one text, so that the order of texts is the
 * order of runs, a page is one range over one index, and so is a span of time. It never changes.
 */
export type SortKey = string & { readonly [brand]: true };

type Placed = Pick<Run, 'created_at' | 'number' | 'run_id'>;

export const sortKeyOf = ({ created_at, number, run_id }: Placed): SortKey =>
  asSortKey(`${startOf(new Date(created_at), number)}.${run_id}`);

const PLACE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\.\d{12}\.(.*)$/;

export const isSortKey = (text: string): text is SortKey => isRunId(PLACE.exec(text)?.[1] ?? '');

export const asSortKey = (text: string): SortKey => {
  if (!isSortKey(text)) throw new TypeError(`"${text}" is not the place of a run in a list`);
  return text;
};

/** Which part of a list is meant. */
export interface ListRange {
  /** When the run was created: from this time on. */
  readonly createdAfter?: Date;
  /** When the run was created: before this time. */
  readonly createdBefore?: Date;
  /** Only what comes behind this run, which is what is older. */
  readonly behind?: SortKey;
}

/** The places from the first text on and before the second; undefined for no end. */
export interface SortKeyRange {
  readonly from: string;
  readonly before: string | undefined;
}

export const sortKeysIn = ({ createdAfter, createdBefore, behind }: ListRange): SortKeyRange => {
  const ends = [
    ...(createdBefore ? [startOf(createdBefore)] : []),
    ...(behind === undefined ? [] : [behind]),
  ];
  return { from: createdAfter ? startOf(createdAfter) : FIRST, before: ends.sort()[0] };
};

/** Before every place. It is not empty, since SecantusDB finds nothing from the empty text on. */
const FIRST = '0';
const EARLIEST = Date.parse('0000-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * What a place begins with; with the number 0, which no run has, it is before all places of that time. Years have four
 * digits only: others begin with a sign, which is in no order with digits.
 */
const startOf = (time: Date, number = 0): string => {
  const instant = new Date(Math.min(Math.max(time.getTime(), EARLIEST), LATEST)).toISOString();
  return `${instant}.${String(number).padStart(12, '0')}`;
};
