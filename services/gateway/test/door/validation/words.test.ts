import { TimeOrDay } from '@runledger/contracts/http/fields';
import { Type, type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { problemsOf, type Source } from '../../../src/door/problems.ts';

const problems = (schema: TSchema, value: unknown, source: Source = 'body') =>
  problemsOf(schema, value, source).map(({ type, msg }) => [type, msg]);

const UUID = 'Send a UUID, such as 01a21460-0004-7000-8000-000000000004';
const URL = 'Send a URL, such as https://example.com/hook';
const TIME = 'Send a time in ISO 8601 with its offset from UTC, such as 2026-01-31T09:30:00Z';

// The types are those of pydantic 2.14.
describe('a refused value is told by the keyword that refused it:', () => {
  it.each<[TSchema, unknown, string, string]>([
    [Type.String(), 5, 'string_type', 'Send a text'],
    [Type.String(), null, 'string_type', 'Send a text'],
    [Type.Integer(), 'x', 'int_type', 'Send a whole number'],
    [Type.Integer(), 1.5, 'int_from_float', 'Send a whole number'],
    [Type.Number(), '1', 'float_type', 'Send a number'],
    [Type.Boolean(), 1, 'bool_type', 'Send true or false'],
    [Type.Array(Type.String()), {}, 'list_type', 'Send a list'],
    [Type.Object({}), [], 'dict_type', 'Send an object'],
    [Type.Object({}, { title: 'Model' }), null, 'model_attributes_type', 'Send an object'],
    [Type.Object({ a: Type.Null() }), {}, 'missing', 'This is required: send it'],
    [
      Type.Object({}, { additionalProperties: false }),
      { a: 1 },
      'extra_forbidden',
      'This is unknown here: leave it out',
    ],
    [Type.Enum(['T4', 'L4', 'A100']), 'A1', 'enum', "Send 'T4', 'L4' or 'A100'"],
    [Type.Enum(['T4']), 'toString', 'enum', "Send 'T4'"],
    [Type.Literal('a'), 5, 'literal_error', "Send 'a'"],
    [Type.String({ minLength: 2 }), 'a', 'string_too_short', 'Send at least 2 characters'],
    [Type.String({ minLength: 1 }), '', 'string_too_short', 'Send at least 1 character'],
    [Type.String({ maxLength: 5 }), 'abcdef', 'string_too_long', 'Send at most 5 characters'],
    [
      Type.String({ pattern: '^a+$' }),
      'b',
      'string_pattern_mismatch',
      'Send a text that matches the pattern ^a+$',
    ],
    [Type.Array(Type.Integer(), { minItems: 1 }), [], 'too_short', 'Send at least 1 item'],
    [Type.Array(Type.Integer(), { maxItems: 3 }), [1, 2, 3, 4], 'too_long', 'Send at most 3 items'],
    [Type.Integer({ minimum: 1 }), 0, 'greater_than_equal', 'Send 1 or more'],
    [Type.Integer({ maximum: 100 }), 101, 'less_than_equal', 'Send 100 or less'],
    [Type.Number({ exclusiveMinimum: 0 }), 0, 'greater_than', 'Send more than 0'],
    [Type.Number({ exclusiveMaximum: 1.5 }), 2, 'less_than', 'Send less than 1.5'],
    [Type.String({ format: 'uuid' }), 5, 'uuid_type', UUID],
    [Type.String({ format: 'uuid' }), 'x', 'uuid_parsing', UUID],
    [Type.String({ format: 'uri' }), 5, 'url_type', URL],
    [Type.String({ format: 'uri' }), '//a', 'url_parsing', URL],
    [Type.String({ format: 'date-time' }), '2026-01-31', 'datetime_parsing', TIME],
    [TimeOrDay, 5, 'datetime_type', `${TIME}, or a day, such as 2026-01-31. In a URL, write + as %2B`],
    [Type.Integer({ multipleOf: 2 }), 3, 'value_error', 'Send a value that fits the description'],
  ])('%j, %j: %s', (schema, value, type, msg) => {
    expect(problems(schema, value)).toEqual([[type, msg]]);
  });

  it.each<[TSchema, string]>([
    [Type.Integer(), 'int_parsing'],
    [Type.Number(), 'float_parsing'],
    [Type.Boolean(), 'bool_parsing'],
  ])('%j in a query, whose values are texts: %s', (schema, type) => {
    expect(problems(Type.Object({ a: schema }), { a: 'x' }, 'query').map(([name]) => name)).toEqual([type]);
  });

  it('counts the characters of a text as Unicode does', () => {
    const two = Type.String({ maxLength: 2 });
    expect(problems(two, '💥💥')).toEqual([]);
    expect(problems(two, '💥💥💥')).toHaveLength(1);
  });
});
