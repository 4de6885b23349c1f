/* oxlint-disable no-restricted-globals -- it parses and writes times; it does not read the clock */
import { isRunId } from '@runledger/contracts/ids';

/** What says where a run stands in a list. */
interface ListedRun {
  readonly created_at: string;
  readonly number: number;
  readonly run_id: string;
}

declare const brand: unique symbol;
/**
 * What runs are sorted by in every list: the run's creation, its number and its id in one text. The order of these texts
 * is the order of the runs, so a page is one range over one index, and so is a span of time. It never changes.
 */
export type SortKey = string & { readonly [brand]: true };

export const sortKeyOf = ({ created_at, number, run_id }: ListedRun): SortKey =>
  asSortKey(`${startOf(new Date(created_at), number)}.${run_id}`);

/** The list behind it begins with this run; a run that was queued next, in the same millisecond, may come before. */
export const sortKeyBefore = ({ created_at, number, run_id }: ListedRun): SortKey =>
  sortKeyOf({ created_at, number: number + 1, run_id });

const SORT_KEY = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\.\d{12}\.(.*)$/;

export const isSortKey = (text: string): text is SortKey => isRunId(SORT_KEY.exec(text)?.[1] ?? '');

export const asSortKey = (text: string): SortKey => {
  if (!isSortKey(text)) throw new TypeError(`"${text}" is not the sort key of a run`);
  return text;
};

/** When the run of a sort key was created, ISO 8601. */
export const createdAtIn = (sortKey: SortKey): string => sortKey.slice(0, TIME_LENGTH);
const TIME_LENGTH = '2026-01-01T00:00:00.000Z'.length;

export interface CreatedRange {
  /** Only runs created at this time or later. */
  readonly createdAfter?: Date;
  /** Only runs created before this time. */
  readonly createdBefore?: Date;
}

/** Which part of a list a client wants. */
export interface ListRange extends CreatedRange {
  /** Only runs that follow this one in the list, which are older. */
  readonly behind?: SortKey;
}

/** The sort keys from the first text on and before the second; undefined for no end. */
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

/** Before every sort key. It is not empty, since SecantusDB finds nothing from the empty text on. */
const FIRST = '0';
const EARLIEST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * What a sort key begins with. With the number 0, which no run has, it is before all sort keys of that time. Years have
 * four digits only: other years begin with a sign, which does not sort with digits.
 */
const startOf = (time: Date, number = 0): string => {
  const instant = new Date(Math.min(Math.max(time.getTime(), EARLIEST_MS), LATEST_MS)).toISOString();
  return `${instant}.${String(number).padStart(12, '0')}`;
};
