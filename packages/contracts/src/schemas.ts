import { Type, type TEnum, type TSchemaOptions } from 'typebox';
import { isExactNumber, type ExactNumber, type JsonNumber } from './exact-number.ts';
import type { JsonObject, JsonValue } from './json.ts';

/** Each value of a closed list, with what it means: a value without words does not compile. */
export type InWords<Value extends string> = Readonly<Record<Value, string>>;

/** The values in the order of the table. The keys of a literal are its names. */
export const valuesOf = <const Value extends string>(words: InWords<Value>): Value[] =>
  Object.keys(words) as Value[];

/** A sentence about a value, and below it each thing that it may be in words, as a list in Markdown. */
export const listInWords = (about: string, words: InWords<string>): string =>
  [`${about}\n`, ...Object.entries(words).map(([value, means]) => `- \`${value}\`: ${means}`)].join('\n');

/** An enum that is made of its words, which its description lists. `description`: a sentence before the list. */
export const enumInWords = <const Value extends string>(
  words: InWords<Value>,
  { description, ...options }: TSchemaOptions & { readonly description: string },
): TEnum<Value[]> & { readonly description: string } =>
  Object.assign(Type.Enum(valuesOf(words), options), { description: listInWords(description, words) });

/**
 * An optional member of a request. `otherwise` says what null means, for the document: it follows the description of the schema, and by
 * default null counts as omitted.
 */
export const optional = <Schema extends Type.TSchema>(
  schema: Schema,
  otherwise = 'Null counts as omitted.',
): Type.TOptional<Type.TUnion<[Schema, Type.TNull]>> =>
  Type.Optional(Type.Union([schema, Type.Null()], { description: otherwise }));

/** An optional member of a change of a record. */
export const unchanged = <Schema extends Type.TSchema>(
  schema: Schema,
): Type.TOptional<Type.TUnion<[Schema, Type.TNull]>> =>
  optional(schema, 'Unchanged when it is null or omitted.');

/**
 * A member of a response that is always present, and null while it is unknown. `whenNull` follows the description of the schema in the
 * document; left out where that says it.
 */
export const nullable = <Schema extends Type.TSchema>(
  schema: Schema,
  whenNull?: string,
): Type.TUnion<[Schema, Type.TNull]> =>
  Type.Union([schema, Type.Null()], whenNull === undefined ? {} : { description: whenNull });

export const Json = Type.Unsafe<JsonValue>(Type.Unknown());
export const JsonRecord = Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: true }));

/** A branch for numbers that no double holds. The OpenAPI document does not have it: they are numbers there. */
export const Exact = Type.Unsafe<ExactNumber>(
  Type.Refine(Type.Unknown({ 'x-exact-number': true }), isExactNumber),
);

/** A number that a user wrote. */
export const UserNumber = Type.Unsafe<JsonNumber>(Type.Union([Type.Number(), Exact]));

/** The same, where an integer may be a text of its digits: so answers show one that a double would change. */
export const NumberOrDigits = Type.Unsafe<JsonNumber | string>(
  Type.Union([Type.Number(), Type.String({ pattern: '^-?(?:0|[1-9][0-9]{0,308})$' }), Exact]),
);
