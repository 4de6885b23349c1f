import { Type } from 'typebox';
import { Format } from 'typebox/format';

/** Accepted in either case, always written in lower case. */
export const Uuid = Type.String({ format: 'uuid' });

/** ISO 8601 in UTC, to the millisecond, with `Z`. */
export const Time = Type.String({ format: 'date-time' });

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

/** The most items on a page. */
export const PageLimit = Type.Integer({ minimum: 1, maximum: 100, default: 20 });

export const Cursor = Type.String({
  maxLength: 512,
  description: 'next_cursor of the previous page',
});

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
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
