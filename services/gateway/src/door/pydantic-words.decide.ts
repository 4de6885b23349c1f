import type { TValidationError } from 'typebox/error';
import { isJsonNumber, numberText } from '@runledger/contracts/exact-number';
import { isNode, type Node } from './compiled.ts';

export interface Words {
  readonly type: string;
  readonly msg: string;
}

/** A value without parts that a schema refused. */
interface RefusedValue {
  readonly error: TValidationError;
  readonly schema: Node;
  readonly value: unknown;
  /** The value is a text that could not be parsed. */
  readonly isText: boolean;
}

export const MISSING: Words = { type: 'missing', msg: 'Field required' };
export const EXTRA: Words = { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' };

/** For keywords that the schemas of this API do not use. */
export const NOT_AS_DESCRIBED: Words = {
  type: 'value_error',
  msg: 'Value error, the input does not fit its description',
};

const UUID_TEXT =
  'Input should be a valid UUID, of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in hexadecimal digits';
const DATETIME_TEXT =
  'Input should be a valid datetime, in ISO 8601 with its offset from UTC, such as 2026-01-31T09:30:00Z';

/** The type and message that pydantic 2 gives for what is wrong with a value. */
export const wordsOf = (refused: RefusedValue): Words => {
  const { error, schema } = refused;
  switch (error.keyword) {
    case 'type':
      return wrongType(refused);
    case 'enum':
      return notListed(error.params.allowedValues);
    case 'const':
      return shouldBe('literal_error', choice([error.params.allowedValue]));
    case 'format':
      return wrongFormat(error.params.format);
    case 'pattern':
      return {
        type: 'string_pattern_mismatch',
        msg: `String should match pattern '${textIn(schema, 'pattern')}'`,
      };
    case 'minLength':
      return {
        type: 'string_too_short',
        msg: `String should have at least ${characters(error.params.limit)}`,
      };
    case 'maxLength':
      return { type: 'string_too_long', msg: `String should have at most ${characters(error.params.limit)}` };
    case 'minimum':
      return belowMinimum(error.params.limit);
    case 'maximum':
      return aboveMaximum(error.params.limit);
    case 'exclusiveMinimum':
      return shouldBe('greater_than', `greater than ${error.params.limit}`);
    case 'exclusiveMaximum':
      return shouldBe('less_than', `less than ${error.params.limit}`);
    // Values with members or items, which have problems of their own.
    case 'additionalProperties':
    case 'anyOf':
    case 'maxItems':
    case 'minItems':
    case 'required':
    // The schemas of this API do not use these.
    case '~refine':
    case 'boolean':
    case 'contains':
    case 'dependencies':
    case 'dependentRequired':
    case 'if':
    case 'maxProperties':
    case 'minProperties':
    case 'multipleOf':
    case 'not':
    case 'oneOf':
    case 'propertyNames':
    case 'unevaluatedItems':
    case 'unevaluatedProperties':
    case 'uniqueItems':
      return NOT_AS_DESCRIBED;
  }
};

/** The words that a schema itself has for values that it refuses. */
export const ownWords = (schema: Node): Words | undefined => {
  const words = schema['x-refusal'];
  return isNode(words) ? { type: textIn(words, 'type'), msg: textIn(words, 'msg') } : undefined;
};

const textIn = (schema: Node, name: string): string => {
  const text = schema[name];
  return typeof text === 'string' ? text : '';
};

const shouldBe = (type: string, what: string): Words => ({ type, msg: `Input should be ${what}` });

export const notListed = (values: readonly unknown[]): Words => shouldBe('enum', choice(values));

export const belowMinimum = (limit: number | bigint | string): Words =>
  shouldBe('greater_than_equal', `greater than or equal to ${limit}`);

export const aboveMaximum = (limit: number | bigint | string): Words =>
  shouldBe('less_than_equal', `less than or equal to ${limit}`);

export const wrongType = ({ schema, value, isText }: Omit<RefusedValue, 'error'>): Words => {
  switch (schema['type']) {
    case 'string':
      return wrongText(textIn(schema, 'format'));
    case 'integer':
      if (isText) return { type: 'int_parsing', msg: `${INTEGER}, unable to parse string as an integer` };
      if (isJsonNumber(value))
        return { type: 'int_from_float', msg: `${INTEGER}, got a number with a fractional part` };
      return { type: 'int_type', msg: INTEGER };
    case 'number':
      if (isText) return { type: 'float_parsing', msg: `${NUMBER}, unable to parse string as a number` };
      return { type: 'float_type', msg: NUMBER };
    case 'boolean':
      if (isText) return { type: 'bool_parsing', msg: `${BOOLEAN}, unable to interpret input` };
      return { type: 'bool_type', msg: BOOLEAN };
    case 'array':
      return { type: 'list_type', msg: 'Input should be a valid list' };
    case 'object':
      return schema['title'] === undefined
        ? { type: 'dict_type', msg: 'Input should be a valid dictionary' }
        : NO_MODEL;
    default:
      return NOT_AS_DESCRIBED;
  }
};

export const NO_MODEL: Words = {
  type: 'model_attributes_type',
  msg: 'Input should be a valid dictionary or object to extract fields from',
};
const INTEGER = 'Input should be a valid integer';
const NUMBER = 'Input should be a valid number';
const BOOLEAN = 'Input should be a valid boolean';

const wrongText = (format: string): Words => {
  switch (format) {
    case 'uuid':
      return { type: 'uuid_type', msg: 'UUID input should be a string, bytes or UUID object' };
    case 'uri':
    case 'webhook-url':
      return { type: 'url_type', msg: 'URL input should be a string or URL' };
    case 'date-time':
    case 'time-or-day':
    case 'time-with-offset':
      return { type: 'datetime_type', msg: 'Input should be a valid datetime' };
    default:
      return { type: 'string_type', msg: 'Input should be a valid string' };
  }
};

const wrongFormat = (format: string): Words => {
  switch (format) {
    case 'uuid':
      return { type: 'uuid_parsing', msg: UUID_TEXT };
    case 'uri':
      return { type: 'url_parsing', msg: 'Input should be a valid URL' };
    case 'date-time':
      return { type: 'datetime_parsing', msg: DATETIME_TEXT };
    case 'time-or-day':
    case 'time-with-offset':
      return {
        type: 'datetime_parsing',
        msg: `${DATETIME_TEXT}, or a day, such as 2026-01-31 (in a URL, write + as %2B)`,
      };
    default:
      return { type: 'value_error', msg: `Value error, the input is not a ${format}` };
  }
};

const quoted = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : isJsonNumber(value) ? numberText(value) : String(value);

const choice = (values: readonly unknown[]): string => {
  const words = values.map(quoted);
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
};

export const tooFewItems = (least: number, count: number): Words => ({
  type: 'too_short',
  msg: `List should have at least ${items(least)} after validation, not ${count}`,
});

export const tooManyItems = (most: number, count: number): Words => ({
  type: 'too_long',
  msg: `List should have at most ${items(most)} after validation, not ${count}`,
});

const characters = (count: number): string => (count === 1 ? '1 character' : `${count} characters`);
const items = (count: number): string => (count === 1 ? '1 item' : `${count} items`);
