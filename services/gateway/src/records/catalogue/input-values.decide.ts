import {
  isFileInputType,
  isFileListType,
  namedFiles,
  readFileValue,
  type FileInputType,
  type WorkflowInput,
} from '@runledger/contracts/catalogue/workflow-inputs';
import type { JsonObject, JsonValue } from '@runledger/contracts/json';
import {
  compareNumbers,
  wholeNumber,
  doubleOf,
  isIntegerText,
  isJsonNumber,
  numberOf,
  type JsonNumber,
} from '@runledger/contracts/exact-number';
import { MAX_INPUT_FILES, MAX_SECRET_LENGTH, MIN_SECRET_LENGTH } from '@runledger/contracts/limits';

/** What a definition says about a value. */
export type ValueRules = Pick<
  WorkflowInput,
  'type' | 'secret' | 'enum' | 'minimum' | 'maximum' | 'min_items' | 'max_items'
>;

type PlainType = Exclude<WorkflowInput['type'], FileInputType>;

export type WrongValue =
  | { readonly kind: 'wrong_type'; readonly type: PlainType; readonly value: JsonValue }
  /** `item`: its place in a list. */
  | { readonly kind: 'no_file'; readonly item?: number }
  /** A list where one file is declared, or the reverse. */
  | { readonly kind: 'one_file' | 'file_list' }
  | { readonly kind: 'too_few_items' | 'too_many_items'; readonly limit: number; readonly count: number }
  | { readonly kind: 'not_listed'; readonly values: NonNullable<WorkflowInput['enum']> }
  | { readonly kind: 'below_minimum'; readonly minimum: JsonNumber }
  | { readonly kind: 'above_maximum'; readonly maximum: JsonNumber }
  /** Of a secret. */
  | { readonly kind: 'too_short' | 'too_long'; readonly length: number };

/** For people: what the value of an input that is a file may be. */
export const FILE_FORMS = 'send the id of an uploaded file, an http or https URL, or a data URL';
export const ONE_FILE = `this input is one file, and not a list: ${FILE_FORMS}`;
export const FILE_LIST =
  'this input is a list of files: send a list, also of one file, whose items are ids of uploaded files, http or https URLs, or data URLs';

/**
 * A value as the workflow gets it: a text of digits is a number for an input that is one, since answers show long integers as texts, and
 * an integer has no fraction, however it is written. Any other value is as it was given.
 */
export const valueAs = (type: WorkflowInput['type'], given: JsonValue): JsonValue => {
  if (type !== 'integer' && type !== 'number') return given;
  const value = typeof given === 'string' && isIntegerText(given) ? numberOf(given) : given;
  return (type === 'integer' && isJsonNumber(value) && wholeNumber(value)) || value;
};

/** What is wrong with a value that is as the workflow gets it: its type before its bounds. */
export const wrongValue = (rules: ValueRules, value: JsonValue): WrongValue | undefined => {
  const { type, secret, enum: values, minimum, maximum } = rules;
  if (isFileInputType(type)) return wrongFiles(type, rules, value);
  if (!isOfType(type, value)) return { kind: 'wrong_type', type, value };
  if (values && !values.some((listed) => isSame(listed, value))) return { kind: 'not_listed', values };
  if (secret && typeof value === 'string') return wrongLength(value);
  if (Array.isArray(value)) return wrongCount(rules, value.length);
  if (!isJsonNumber(value)) return undefined;
  if (minimum !== undefined && compareNumbers(value, minimum) < 0) return { kind: 'below_minimum', minimum };
  if (maximum !== undefined && compareNumbers(value, maximum) > 0) return { kind: 'above_maximum', maximum };
  return undefined;
};

const wrongFiles = (type: FileInputType, rules: ValueRules, value: JsonValue): WrongValue | undefined => {
  const isList = isFileListType(type);
  if (isList !== Array.isArray(value)) return { kind: isList ? 'file_list' : 'one_file' };
  const named = namedFiles(value);
  const count = isList
    ? wrongCount({ ...rules, max_items: rules.max_items ?? MAX_INPUT_FILES }, named.length)
    : undefined;
  const item = named.findIndex((file) => readFileValue(file) === undefined);
  if (count !== undefined || item === -1) return count;
  return isList ? { kind: 'no_file', item } : { kind: 'no_file' };
};

const wrongCount = (
  { min_items = 0, max_items = Infinity }: ValueRules,
  count: number,
): WrongValue | undefined => {
  if (count < min_items) return { kind: 'too_few_items', limit: min_items, count };
  return count > max_items ? { kind: 'too_many_items', limit: max_items, count } : undefined;
};

const isSame = (listed: string | JsonNumber, value: JsonValue): boolean =>
  isJsonNumber(listed) && isJsonNumber(value) ? compareNumbers(listed, value) === 0 : listed === value;

const wrongLength = ({ length }: string): WrongValue | undefined => {
  if (length < MIN_SECRET_LENGTH) return { kind: 'too_short', length: MIN_SECRET_LENGTH };
  return length > MAX_SECRET_LENGTH ? { kind: 'too_long', length: MAX_SECRET_LENGTH } : undefined;
};

const isOfType = (type: PlainType, value: JsonValue): boolean => {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type;
    case 'number':
      return isJsonNumber(value);
    case 'integer':
      return isJsonNumber(value) && wholeNumber(value) !== undefined;
    case 'array':
      return Array.isArray(value);
  }
};

export type WrongInput = { readonly name: string } & (WrongValue | { readonly kind: 'missing' });

export type FittedInputs =
  | { readonly kind: 'fitted'; readonly inputs: JsonObject }
  | { readonly kind: 'wrong'; readonly wrong: readonly WrongInput[] };

/** Both ends are included. They and all integers between them are exact. */
export interface IntegerBounds {
  readonly lowest: number;
  readonly highest: number;
}

/** A random integer within its bounds. */
export type DrawInteger = (bounds: IntegerBounds) => number;

/** Of a random input: the integers within its bounds that a double holds. */
export const drawnBounds = ({ minimum = 0, maximum = MOST }: ValueRules): IntegerBounds => ({
  lowest: Math.max(Math.ceil(doubleOf(minimum) ?? 0), -MOST),
  highest: Math.min(Math.floor(doubleOf(maximum) ?? MOST), MOST),
});

const MOST = Number.MAX_SAFE_INTEGER;

/** Null asks for a random value. */
const givenValue = (inputs: JsonObject, { name, random }: WorkflowInput): JsonValue | undefined => {
  const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
  return random && given === null ? undefined : given;
};

/**
 * The inputs of a run as their definitions have them, with the defaults of those that were left out, or everything that is wrong with them, in the order of
 * the definitions. Inputs without a definition are passed on.
 */
export const fitInputs = (
  definitions: readonly WorkflowInput[],
  inputs: JsonObject,
  draw: DrawInteger,
): FittedInputs => {
  const wrong: WrongInput[] = [];
  const values: [string, JsonValue][] = [];
  for (const definition of definitions) {
    const { name, required, random } = definition;
    const given = givenValue(inputs, definition);
    if (given !== undefined) {
      const read = valueAs(definition.type, given);
      const problem = wrongValue(definition, read);
      if (problem) wrong.push({ name, ...problem });
      else if (read !== given) values.push([name, read]);
    } else if (random) values.push([name, draw(drawnBounds(definition))]);
    else if (definition.default !== undefined) values.push([name, definition.default]);
    else if (required) wrong.push({ name, kind: 'missing' });
  }
  if (wrong.length > 0) return { kind: 'wrong', wrong };
  if (values.length === 0) return { kind: 'fitted', inputs };
  // Entries, because `__proto__` is an ordinary name.
  return { kind: 'fitted', inputs: Object.fromEntries([...Object.entries(inputs), ...values]) };
};
