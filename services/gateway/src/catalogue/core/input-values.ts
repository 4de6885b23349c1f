import {
  isFileInputType,
  readFileValue,
  type FileInputType,
} from '@runledger/contracts/catalogue/file-inputs';
import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
import type { JsonObject, JsonValue } from '@runledger/contracts/json';
import { compareNumbers, wholeNumber } from '@runledger/contracts/numbers/compare-numbers';
import {
  isIntegerText,
  isJsonNumber,
  numberOf,
  type JsonNumber,
} from '@runledger/contracts/numbers/exact-number';
import { MAX_SECRET_LENGTH, MIN_SECRET_LENGTH } from '@runledger/contracts/limits';

/** What a definition says about a value. */
export type ValueRules = Pick<WorkflowInput, 'type' | 'secret' | 'enum' | 'minimum' | 'maximum'>;

type PlainType = Exclude<WorkflowInput['type'], FileInputType>;

export type WrongValue =
  | { readonly kind: 'wrong_type'; readonly type: PlainType; readonly value: JsonValue }
  | { readonly kind: 'no_file' }
  | { readonly kind: 'not_listed'; readonly values: NonNullable<WorkflowInput['enum']> }
  | { readonly kind: 'below_minimum'; readonly minimum: JsonNumber }
  | { readonly kind: 'above_maximum'; readonly maximum: JsonNumber }
  /** Of a secret. */
  | { readonly kind: 'too_short' | 'too_long'; readonly length: number };

/** For people: what the value of an input that is a file may be. */
export const FILE_FORMS = 'send the id of an uploaded file, an http or https URL, or a data URL';

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
export const wrongValue = (
  { type, secret, enum: values, minimum, maximum }: ValueRules,
  value: JsonValue,
): WrongValue | undefined => {
  if (isFileInputType(type)) return readFileValue(value) ? undefined : { kind: 'no_file' };
  if (!isOfType(type, value)) return { kind: 'wrong_type', type, value };
  if (values && !values.some((listed) => isSame(listed, value))) return { kind: 'not_listed', values };
  if (secret && typeof value === 'string') return wrongLength(value);
  if (!isJsonNumber(value)) return undefined;
  if (minimum !== undefined && compareNumbers(value, minimum) < 0) return { kind: 'below_minimum', minimum };
  if (maximum !== undefined && compareNumbers(value, maximum) > 0) return { kind: 'above_maximum', maximum };
  return undefined;
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

/**
 * The inputs of a run as their definitions have them, with the defaults of those that were left out, or everything that is wrong with them, in the order of
 * the definitions. Inputs without a definition are passed on.
 */
export const fitInputs = (definitions: readonly WorkflowInput[], inputs: JsonObject): FittedInputs => {
  const wrong: WrongInput[] = [];
  const values: [string, JsonValue][] = [];
  for (const definition of definitions) {
    const { name, required, default: value } = definition;
    const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (given !== undefined) {
      const read = valueAs(definition.type, given);
      const problem = wrongValue(definition, read);
      if (problem) wrong.push({ name, ...problem });
      else if (read !== given) values.push([name, read]);
    } else if (value !== undefined) values.push([name, value]);
    else if (required) wrong.push({ name, kind: 'missing' });
  }
  if (wrong.length > 0) return { kind: 'wrong', wrong };
  if (values.length === 0) return { kind: 'fitted', inputs };
  // Entries, because `__proto__` is an ordinary name.
  return { kind: 'fitted', inputs: Object.fromEntries([...Object.entries(inputs), ...values]) };
};
