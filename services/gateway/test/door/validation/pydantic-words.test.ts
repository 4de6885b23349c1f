import { TimeOrDay } from '@runledger/contracts/http/fields';
import { Type, type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { pydanticProblems } from '../../../src/door/pydantic-problems.ts';

const id = '01920000-0000-7000-8000-000000000001';
const problems = (schema: TSchema, value: unknown) => pydanticProblems(schema, value, 'body');

// What pydantic 2.14 says, word for word.
describe('a value is refused in the words of pydantic:', () => {
  it.each<[TSchema, unknown, string, string]>([
    [Type.String(), 5, 'string_type', 'Input should be a valid string'],
    [Type.String(), null, 'string_type', 'Input should be a valid string'],
    [Type.Integer(), 'x', 'int_type', 'Input should be a valid integer'],
    [Type.Integer(), true, 'int_type', 'Input should be a valid integer'],
    [
      Type.Integer(),
      1.5,
      'int_from_float',
      'Input should be a valid integer, got a number with a fractional part',
    ],
    [Type.Number(), '1', 'float_type', 'Input should be a valid number'],
    [Type.Boolean(), 1, 'bool_type', 'Input should be a valid boolean'],
    [Type.Boolean(), 'true', 'bool_type', 'Input should be a valid boolean'],
    [Type.Array(Type.String()), {}, 'list_type', 'Input should be a valid list'],
    [Type.Object({}), [], 'dict_type', 'Input should be a valid dictionary'],
    [
      Type.Object({}, { title: 'Model' }),
      null,
      'model_attributes_type',
      'Input should be a valid dictionary or object to extract fields from',
    ],
    [Type.Enum(['T4', 'L4', 'A100']), 'A1', 'enum', "Input should be 'T4', 'L4' or 'A100'"],
    [Type.Enum(['T4', 'L4']), [], 'enum', "Input should be 'T4' or 'L4'"],
    [Type.Enum(['T4']), 'toString', 'enum', "Input should be 'T4'"],
    [Type.Literal('a'), 'b', 'literal_error', "Input should be 'a'"],
    [Type.Literal('a'), 5, 'literal_error', "Input should be 'a'"],
    [Type.String({ minLength: 2 }), 'a', 'string_too_short', 'String should have at least 2 characters'],
    [Type.String({ minLength: 1 }), '', 'string_too_short', 'String should have at least 1 character'],
    [Type.String({ maxLength: 5 }), 'abcdef', 'string_too_long', 'String should have at most 5 characters'],
    [Type.String({ maxLength: 1 }), 'ab', 'string_too_long', 'String should have at most 1 character'],
    [Type.String({ pattern: '^a+$' }), 'b', 'string_pattern_mismatch', "String should match pattern '^a+$'"],
    [
      Type.Array(Type.Integer(), { minItems: 2 }),
      [1],
      'too_short',
      'List should have at least 2 items after validation, not 1',
    ],
    [
      Type.Array(Type.Integer(), { minItems: 1 }),
      [],
      'too_short',
      'List should have at least 1 item after validation, not 0',
    ],
    [
      Type.Array(Type.Integer(), { maxItems: 3 }),
      [1, 2, 3, 4],
      'too_long',
      'List should have at most 3 items after validation, not 4',
    ],
    [Type.Integer({ minimum: 1 }), 0, 'greater_than_equal', 'Input should be greater than or equal to 1'],
    [Type.Integer({ maximum: 100 }), 101, 'less_than_equal', 'Input should be less than or equal to 100'],
    [Type.Number({ exclusiveMinimum: 0 }), 0, 'greater_than', 'Input should be greater than 0'],
    [Type.Number({ exclusiveMaximum: 1.5 }), 2, 'less_than', 'Input should be less than 1.5'],
    [Type.String({ format: 'uuid' }), 5, 'uuid_type', 'UUID input should be a string, bytes or UUID object'],
    [Type.String({ format: 'uri' }), 5, 'url_type', 'URL input should be a string or URL'],
    [TimeOrDay, 5, 'datetime_type', 'Input should be a valid datetime'],
  ])('%j, %j: %s', (schema, value, type, msg) => {
    expect(problems(schema, value)).toEqual([{ loc: ['body'], type, msg }]);
  });

  it.each<[TSchema, unknown, string, string]>([
    [Type.String({ format: 'uuid' }), 'x', 'uuid_parsing', 'Input should be a valid UUID, '],
    [Type.String({ format: 'uuid' }), `{${id}}`, 'uuid_parsing', 'Input should be a valid UUID, '],
    [Type.String({ format: 'uri' }), '//a', 'url_parsing', 'Input should be a valid URL'],
    [
      Type.String({ format: 'date-time' }),
      '2026-01-31',
      'datetime_parsing',
      'Input should be a valid datetime, ',
    ],
    [TimeOrDay, '31.1.2026', 'datetime_parsing', 'Input should be a valid datetime, '],
  ])('%j, %j: %s, with a sentence that begins like that of pydantic', (schema, value, type, beginning) => {
    const [problem] = problems(schema, value);
    expect([problem?.type, problem?.msg.slice(0, beginning.length)]).toEqual([type, beginning]);
  });

  it('counts the characters of a text as Unicode does', () => {
    const two = Type.String({ maxLength: 2 });
    expect(problems(two, '💥💥')).toEqual([]);
    expect(problems(two, '💥💥💥')).toHaveLength(1);
  });
});
