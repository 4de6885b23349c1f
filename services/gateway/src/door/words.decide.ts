import { isJsonNumber, numberText } from '@runledger/contracts/exact-number';
import { isNode, own, type Node } from './compiled.ts';

/** What a client is told of a value: `type` as pydantic 2 names it, and what to send instead. */
export interface Words {
  readonly type: string;
  readonly msg: string;
}

export const MISSING: Words = { type: 'missing', msg: 'This is required: send it' };
export const EXTRA: Words = { type: 'extra_forbidden', msg: 'This is unknown here: leave it out' };
export const NO_OBJECT: Words = { type: 'model_attributes_type', msg: 'Send an object' };
/** For keywords that the schemas of this API do not use. */
export const NOT_AS_DESCRIBED: Words = { type: 'value_error', msg: 'Send a value that fits the description' };

type Say = (limit: unknown) => Words;

const saying =
  (type: string, sentence: (limit: string) => string): Say =>
  (limit) => ({ type, msg: sentence(quoted(limit)) });

const counting = (type: string, how: string, what: string): Say =>
  saying(type, (limit) => `Send ${how} ${limit} ${what}${limit === '1' ? '' : 's'}`);

/** By the keyword of the schema that refused a value, with what it says there. */
export const WORDS = {
  enum: (values) => ({ type: 'enum', msg: `Send ${choice(Array.isArray(values) ? values : [])}` }),
  const: saying('literal_error', (value) => `Send ${value}`),
  pattern: (pattern) => ({
    type: 'string_pattern_mismatch',
    msg: `Send a text that matches the pattern ${String(pattern)}`,
  }),
  minLength: counting('string_too_short', 'at least', 'character'),
  maxLength: counting('string_too_long', 'at most', 'character'),
  minItems: counting('too_short', 'at least', 'item'),
  maxItems: counting('too_long', 'at most', 'item'),
  minimum: saying('greater_than_equal', (limit) => `Send ${limit} or more`),
  maximum: saying('less_than_equal', (limit) => `Send ${limit} or less`),
  exclusiveMinimum: saying('greater_than', (limit) => `Send more than ${limit}`),
  exclusiveMaximum: saying('less_than', (limit) => `Send less than ${limit}`),
} satisfies Readonly<Record<string, Say>>;

/** By the type of a schema: how pydantic calls it, and what to send. */
const TYPES: Readonly<Record<string, readonly [name: string, msg: string]>> = {
  string: ['string', 'Send a text'],
  integer: ['int', 'Send a whole number'],
  number: ['float', 'Send a number'],
  boolean: ['bool', 'Send true or false'],
  array: ['list', 'Send a list'],
  object: ['dict', 'Send an object'],
};

const TIME = 'Send a time in ISO 8601 with its offset from UTC, such as 2026-01-31T09:30:00Z';
const TIME_OR_DAY = `${TIME}, or a day, such as 2026-01-31. In a URL, write + as %2B`;

/** By the format of a text. */
const FORMATS: Readonly<Record<string, readonly [name: string, msg: string]>> = {
  uuid: ['uuid', 'Send a UUID, such as 01a21460-0004-7000-8000-000000000004'],
  uri: ['url', 'Send a URL, such as https://example.com/hook'],
  'webhook-url': ['url', 'Send a URL, such as https://example.com/hook'],
  'date-time': ['datetime', TIME],
  'time-or-day': ['datetime', TIME_OR_DAY],
  'time-with-offset': ['datetime', TIME_OR_DAY],
};

/** A value that a schema refused by one of its keywords. `isText`: it was sent as a text, such as in a query. */
interface RefusedValue {
  readonly keyword: string;
  readonly schema: Node;
  readonly value: unknown;
  readonly isText: boolean;
}

export const wordsOf = ({ keyword, schema, value, isText }: RefusedValue): Words => {
  if (keyword === 'type' || keyword === 'format') return wrongType(schema, value, isText);
  const say: unknown = own(WORDS, keyword);
  return typeof say === 'function' ? (say as Say)(schema[keyword]) : NOT_AS_DESCRIBED;
};

export const wrongType = (schema: Node, value: unknown, isText = false): Words => {
  const type = String(schema['type']);
  if (type === 'object' && schema['title'] !== undefined) return NO_OBJECT;
  const format = own(FORMATS, String(schema['format'])) as (typeof FORMATS)[string] | undefined;
  const known = format ?? (own(TYPES, type) as (typeof TYPES)[string] | undefined);
  if (known === undefined) return NOT_AS_DESCRIBED;
  const [name, msg] = known;
  if (type === 'integer' && isJsonNumber(value)) return { type: 'int_from_float', msg };
  return { type: `${name}_${(format ?? isText) && typeof value === 'string' ? 'parsing' : 'type'}`, msg };
};

/** The words that a schema itself has for values that it refuses. */
export const ownWords = (schema: Node): Words | undefined => {
  const words = schema['x-refusal'];
  return isNode(words) ? { type: String(words['type']), msg: String(words['msg']) } : undefined;
};

/** An object whose kind is said by a member. */
export const wrongTag = (tag: string, tags: readonly unknown[], isThere: boolean): Words => ({
  type: isThere ? 'union_tag_invalid' : 'union_tag_not_found',
  msg: `Send ${choice(tags)} as '${tag}'`,
});

const quoted = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : isJsonNumber(value) ? numberText(value) : String(value);

const choice = (values: readonly unknown[]): string => {
  const words = values.map(quoted);
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
};
