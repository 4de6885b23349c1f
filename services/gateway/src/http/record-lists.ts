import { isUuid } from '@runledger/contracts/ids';
import type { RecordPage, RecordSpan } from '../domain/record-page.ts';
import type { AlsoCheck } from './operation.ts';
import { invalid } from './problem.ts';
import { DEFAULT_LIMIT } from './span.ts';
import { own } from './validation/node.ts';

interface ListQuery {
  readonly archived?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

/** The part of a list of records that a query asks for. */
export const recordSpan = ({ archived = false, limit = DEFAULT_LIMIT, cursor }: ListQuery): RecordSpan => ({
  archived,
  limit,
  behind: cursor === undefined ? undefined : decoded(cursor),
});

/** Where a page ended, as clients hand it back; null when nothing follows. */
export const recordCursor = ({ end }: Pick<RecordPage<unknown>, 'end'>): string | null =>
  end === undefined ? null : Buffer.from(end).toString('base64url');

/** Whether a cursor is one that a list of records gave; what is no text is left to the schema. */
export const checkRecordCursor: AlsoCheck = ({ query }) =>
  cursorProblems(own(query, 'cursor'), isRecordPlace);

/** The same for lists of numbered things. */
export const checkNumberCursor: AlsoCheck = ({ query }) =>
  cursorProblems(own(query, 'cursor'), isNumberPlace);

const cursorProblems = (cursor: unknown, isPlace: (text: string) => boolean): ReturnType<AlsoCheck> =>
  typeof cursor !== 'string' || isPlace(decoded(cursor))
    ? []
    : [
        invalid(
          ['query', 'cursor'],
          'value_error',
          'Value error, the cursor is none that a page gave as next_cursor',
        ),
      ];

const PLACE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z\.(.*)$/;
const isRecordPlace = (text: string): boolean => isUuid(PLACE.exec(text)?.[1] ?? '');
const isNumberPlace = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text);

const decoded = (cursor: string): string => Buffer.from(cursor, 'base64url').toString();
