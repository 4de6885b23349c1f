import { Type } from 'typebox';
import { Format } from 'typebox/format';

/** Accepted in either case, always written in lower case. */
export const Uuid = Type.String({
  format: 'uuid',
  examples: ['01a21460-ae48-7794-b9bb-ade918a387db'],
});

const TIME = { format: 'date-time', examples: ['2026-01-31T09:30:00.000Z'] };

/** ISO 8601 in UTC, to the millisecond, with `Z`. */
export const Time = Type.String(TIME);

/** The same, with what happens then. */
export const time = (description: string): Type.TString => Type.String({ ...TIME, description });

export const CreatedAt = time('When it was created.');

/** A day that is to come. The document is the same for years, so it is far away. */
export const FUTURE_DAY = '2099-12-31';

const TIME_OR_DAY =
  /^(\d{4}-\d{2}-\d{2})(?:T(?!24)\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

// JavaScript would read the 30th of February as the 2nd of March.
Format.Set('time-or-day', (text) => {
  const day = TIME_OR_DAY.exec(text)?.[1];
  // oxlint-disable-next-line no-restricted-globals -- parses a text; the clock is not read
  return day !== undefined && Format.IsDate(day) && !Number.isNaN(Date.parse(text));
});

const HAS_TIME = /T/;
Format.Set('time-with-offset', (text) => HAS_TIME.test(text) && Format.Test('time-or-day', text));

/** A time in a request, with its offset from UTC. */
export const TimeWithOffset = Type.String({ format: 'time-with-offset', examples: ['2026-01-31T09:30:00Z'] });

/** A time in a request: with its offset from UTC, or a day, which begins at midnight UTC. */
export const TimeOrDay = Type.String({ format: 'time-or-day', examples: ['2026-01-31T09:30:00Z'] });

export const PageLimit = Type.Integer({
  minimum: 1,
  maximum: 100,
  default: 20,
  description: 'The most items on a page.',
  examples: [20],
});

/** It is not for people, and belongs to one list. */
const CURSOR = 'MDFhMjE0NjAtYWU0OC03Nzk0LWI5YmItYWRlOTE4YTM4N2Ri';

export const Cursor = Type.String({
  maxLength: 512,
  description: '`next_cursor` of the previous page. Left out for the first page.',
  examples: [CURSOR],
});

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  examples: [CURSOR, null],
  description:
    'The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.',
});

/** One or several of these words in a body: a list, or one text with commas, as in a query. */
export const wordsOf = <Schema extends Type.TSchema & { readonly enum: readonly string[] }>(
  schema: Schema,
  options: { readonly default?: string } = {},
): Type.TUnion<[Type.TString, Type.TArray<Schema>]> => {
  const word = `(?:${schema.enum.join('|')})`;
  const choice = schema.enum.map((name) => `'${name}'`).join(', ');
  return Type.Union([Type.String({ pattern: `^ *${word} *(?:, *${word} *)*$` }), Type.Array(schema)], {
    ...options,
    'x-refusal': {
      type: 'enum',
      msg: `Input should be one or several of ${choice}: a list, or a text with commas`,
    },
  });
};
