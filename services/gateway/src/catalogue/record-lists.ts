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

/** Whether a cursor is one that a list of records gave; what is no text is left to the schema. */
export const checkRecordCursor: ExtraCheck = ({ query }) =>
  cursorProblems(own(query, 'cursor'), 'query', isRecordPlace);

/** The same for lists of numbered things. */
export const checkNumberCursor: ExtraCheck = ({ query }) =>
  cursorProblems(own(query, 'cursor'), 'query', isNumberPlace);

const PLACE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z\.(.*)$/;
const isRecordPlace = (text: string): boolean => isUuid(PLACE.exec(text)?.[1] ?? '');
const isNumberPlace = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text);
