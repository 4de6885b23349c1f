import { Type, type TEnum, type TSchemaOptions } from 'typebox';

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
