import { isUuid } from '@runledger/contracts/ids';
import type { RecordSpan } from './store/core/record-page.ts';
import type { ExtraCheck } from '../http/operation.ts';
import { cursorProblems, decodeCursor, DEFAULT_LIMIT } from '../http/pagination.ts';
import { own } from '../validation/node.ts';

interface ListQuery {
  readonly archived?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

/** The part of a list of records that a query asks for. */
export const recordSpan = ({ archived = false, limit = DEFAULT_LIMIT, cursor }: ListQuery): RecordSpan => ({
  archived,
  limit,
  after: cursor === undefined ? undefined : decodeCursor(cursor),
});

/** Whether a record has the name that a query asks for. */
export const isNamed =
  ({ name }: { readonly name?: string }) =>
  (record: { readonly name: string }): boolean =>
    name === undefined || record.name === name;

/** Whether a cursor comes from a list of records. A cursor that is not a string is left to the schema. */
export const checkRecordCursor: ExtraCheck = ({ query }) =>
  cursorProblems(own(query, 'cursor'), 'query', isRecordSortKey);

/** The same for lists of numbered things. */
export const checkNumberCursor: ExtraCheck = ({ query }) =>
  cursorProblems(own(query, 'cursor'), 'query', isNumber);

const SORT_KEY = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z\.(.*)$/;
const isRecordSortKey = (text: string): boolean => isUuid(SORT_KEY.exec(text)?.[1] ?? '');
const isNumber = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text);
