import { Type } from 'typebox';
import { Value } from 'typebox/value';

/** The options of every setting, besides those of its type. */
export interface SettingOptions<Value> {
  /** Shown to the operator if the value is missing or wrong, and in docs/settings.md. */
  readonly description: string;
  readonly default?: Value;
  /** Never printed. It may also stand in a file that `NAME_FILE` names. */
  readonly secret?: boolean;
  /** The empty string is a value. By default it counts as not set. */
  readonly emptyIsValue?: boolean;
}

/** A TCP port to listen on; 0 takes a free one. */
export const port = (options: SettingOptions<number>): Type.TInteger =>
  Type.Integer({ minimum: 0, maximum: 65_535, ...options });

/** A duration in seconds, fractions allowed; not negative. */
export const seconds = (
  options: SettingOptions<number> & { readonly minimum?: number; readonly maximum?: number },
): Type.TNumber => Type.Number({ minimum: 0, unit: 'seconds', ...options });

/** A text that is never printed, for example a key. It may also stand in a file that `NAME_FILE` names. */
export const secret = (options: SettingOptions<string>): Type.TString =>
  Type.String({ minLength: 1, ...options, secret: true });

/** One of a few fixed words. */
export const oneOf = <const Words extends string[]>(
  words: readonly [...Words],
  options: SettingOptions<NoInfer<Words[number]>>,
): Type.TEnum<Words> => Type.Enum<Words>(words, { ...options });

/** Values separated by commas, each converted and checked by `item`. Spaces around values and empty values are dropped. */
export const list = <Item extends Type.TSchema>(
  item: Item,
  options: SettingOptions<readonly Type.Static<Item>[]> & {
    readonly minItems?: number;
    readonly maxItems?: number;
  },
): Type.TArray<Item> => Type.Array(item, { ...options });

/** An absolute URL, unchanged. `protocols` as in `URL.protocol`, with the colon. */
export const url = ({
  protocols = ['http:', 'https:'],
  ...options
}: SettingOptions<string> & { readonly protocols?: readonly string[] }): Type.TRefine<Type.TString> =>
  Type.Refine(
    Type.String({ ...options, protocols }),
    (text) => protocols.includes(URL.parse(text)?.protocol ?? ''),
    () => `is not a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  );

/** A text from the environment, converted by its schema. */
type ReadValue =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly wrong: string };

const INTEGER = /^[+-]?\d{1,16}$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const BOOLEANS = new Map<string, boolean>([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** Converts the text to the type of the schema and checks it. `wrong` never quotes the text. */
export const readValue = (schema: Type.TSchema, text: string): ReadValue => {
  const converted = convert(schema, text);
  if (!converted.ok) return converted;
  const [error] = Value.Errors(schema, converted.value);
  return error === undefined ? converted : { ok: false, wrong: error.message };
};

const convert = (schema: Type.TSchema, text: string): ReadValue => {
  if (Type.IsInteger(schema)) {
    return INTEGER.test(text) && Number.isSafeInteger(Number(text))
      ? { ok: true, value: Number(text) }
      : { ok: false, wrong: 'is not a whole number' };
  }
  if (Type.IsNumber(schema)) {
    return NUMBER.test(text) && Number.isFinite(Number(text))
      ? { ok: true, value: Number(text) }
      : { ok: false, wrong: 'is not a number' };
  }
  if (Type.IsBoolean(schema)) {
    const value = BOOLEANS.get(text.toLowerCase());
    return value === undefined ? { ok: false, wrong: 'is neither true nor false' } : { ok: true, value };
  }
  if (Type.IsLiteral(schema)) return oneOfValues([schema.const], text);
  if (Type.IsEnum(schema)) return oneOfValues(schema.enum, text);
  if (Type.IsUnion(schema)) return firstMatch(schema.anyOf, text);
  if (Type.IsArray(schema)) return convertItems(schema.items, text);
  if (Type.IsString(schema)) return { ok: true, value: text };
  throw new TypeError(
    'A configuration schema has a property whose type cannot be read from text. Use integer, number, boolean, literal, enum, union, array or string.',
  );
};

const oneOfValues = (values: readonly unknown[], text: string): ReadValue => {
  const value = values.find((candidate) => String(candidate) === text);
  return value === undefined ? { ok: false, wrong: 'is not one of the allowed values' } : { ok: true, value };
};

const firstMatch = (variants: readonly Type.TSchema[], text: string): ReadValue =>
  variants.map((variant) => readValue(variant, text)).find((read) => read.ok) ?? {
    ok: false,
    wrong: 'is not one of the allowed values',
  };

const convertItems = (item: Type.TSchema, text: string): ReadValue => {
  const reads = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => readValue(item, part));
  const position = reads.findIndex((read) => !read.ok);
  const bad = reads[position];
  if (bad !== undefined && !bad.ok)
    return { ok: false, wrong: `has an item (number ${position + 1}) that ${bad.wrong}` };
  return { ok: true, value: reads.flatMap((read) => (read.ok ? [read.value] : [])) };
};

/** The expected value in words: "a whole number from 0 to 65535". */
export const expected = (schema: Type.TSchema): string => {
  if (Type.IsInteger(schema)) return `a whole number${bounds(schema)}`;
  if (Type.IsNumber(schema)) {
    return keyword(schema, 'unit') === 'seconds'
      ? `a number of seconds${bounds(schema)}`
      : `a number${bounds(schema)}`;
  }
  if (Type.IsBoolean(schema)) return 'true or false';
  if (Type.IsLiteral(schema)) return String(schema.const);
  if (Type.IsEnum(schema)) return `one of ${schema.enum.join(', ')}`;
  if (Type.IsUnion(schema)) return schema.anyOf.map(expected).join(' or ');
  if (Type.IsArray(schema)) return `a list separated by commas, each item ${expected(schema.items)}`;
  const protocols = keyword(schema, 'protocols');
  if (Array.isArray(protocols))
    return `a URL that begins with ${protocols.map((name) => `${name}//`).join(' or ')}`;
  const pattern = keyword(schema, 'pattern');
  if (pattern !== undefined) return `a text like ${written(pattern)}`;
  const minLength = keyword(schema, 'minLength');
  return typeof minLength === 'number' && minLength > 1
    ? `a text of at least ${minLength} characters`
    : 'a text';
};

const bounds = (schema: Type.TSchema): string => {
  const minimum = keyword(schema, 'minimum');
  const maximum = keyword(schema, 'maximum');
  if (minimum !== undefined && maximum !== undefined)
    return ` from ${written(minimum)} to ${written(maximum)}`;
  if (minimum !== undefined) return ` of at least ${written(minimum)}`;
  return maximum === undefined ? '' : ` of at most ${written(maximum)}`;
};

/** A value as it is written in the environment. */
export const written = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(written).join(',');
  if (typeof value === 'string') return value;
  return value instanceof RegExp ? value.source : JSON.stringify(value);
};

/** A keyword of the schema; undefined if the schema does not have it. */
export const keyword = (schema: Type.TSchema, name: string): unknown =>
  Object.entries(schema).find(([key]) => key === name)?.[1];
