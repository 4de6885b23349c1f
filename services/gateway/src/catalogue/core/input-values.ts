import {
  isFileInputType,
  readFileValue,
  type FileInputType,
} from '@runledger/contracts/catalogue/file-inputs';
import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
import type { JsonObject, JsonValue } from '@runledger/contracts/json';
import { MAX_SECRET_LENGTH, MIN_SECRET_LENGTH } from '@runledger/contracts/limits';

/** What a definition says about a value. */
export type ValueRules = Pick<WorkflowInput, 'type' | 'secret' | 'enum' | 'minimum' | 'maximum'>;

type PlainType = Exclude<WorkflowInput['type'], FileInputType>;

export type WrongValue =
  | { readonly kind: 'wrong_type'; readonly type: PlainType; readonly value: JsonValue }
  | { readonly kind: 'no_file' }
  | { readonly kind: 'not_listed'; readonly values: NonNullable<WorkflowInput['enum']> }
  | { readonly kind: 'below_minimum'; readonly minimum: number }
  | { readonly kind: 'above_maximum'; readonly maximum: number }
  /** Of a secret. */
  | { readonly kind: 'too_short' | 'too_long'; readonly length: number };

/** For people: what the value of an input that is a file may be. */
export const FILE_FORMS = 'send the id of an uploaded file, an http or https URL, or a data URL';

/** What is wrong with a value: its type before its bounds. */
export const wrongValue = (
  { type, secret, enum: values, minimum, maximum }: ValueRules,
  value: JsonValue,
): WrongValue | undefined => {
  if (isFileInputType(type)) return readFileValue(value) ? undefined : { kind: 'no_file' };
  if (!isOfType(type, value)) return { kind: 'wrong_type', type, value };
  if (values && !values.some((listed) => listed === value)) return { kind: 'not_listed', values };
  if (secret && typeof value === 'string') return wrongLength(value);
  if (typeof value !== 'number') return undefined;
  if (minimum !== undefined && value < minimum) return { kind: 'below_minimum', minimum };
  if (maximum !== undefined && value > maximum) return { kind: 'above_maximum', maximum };
  return undefined;
};

const wrongLength = ({ length }: string): WrongValue | undefined => {
  if (length < MIN_SECRET_LENGTH) return { kind: 'too_short', length: MIN_SECRET_LENGTH };
  return length > MAX_SECRET_LENGTH ? { kind: 'too_long', length: MAX_SECRET_LENGTH } : undefined;
};

const isOfType = (type: PlainType, value: JsonValue): boolean => {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
  }
};

export type WrongInput = { readonly name: string } & (WrongValue | { readonly kind: 'missing' });

export type FittedInputs =
  | { readonly kind: 'fitted'; readonly inputs: JsonObject }
  | { readonly kind: 'wrong'; readonly wrong: readonly WrongInput[] };

/**
 * The inputs of a run with the defaults of those that were left out, or everything that is wrong with them, in the order of
 * the definitions. Inputs without a definition are passed on.
 */
export const fitInputs = (definitions: readonly WorkflowInput[], inputs: JsonObject): FittedInputs => {
  const wrong: WrongInput[] = [];
  const defaults: [string, JsonValue][] = [];
  for (const definition of definitions) {
    const { name, required, default: value } = definition;
    const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (given !== undefined) {
      const problem = wrongValue(definition, given);
      if (problem) wrong.push({ name, ...problem });
    } else if (value !== undefined) defaults.push([name, value]);
    else if (required) wrong.push({ name, kind: 'missing' });
  }
  if (wrong.length > 0) return { kind: 'wrong', wrong };
  if (defaults.length === 0) return { kind: 'fitted', inputs };
  // Entries, because `__proto__` is an ordinary name.
  return { kind: 'fitted', inputs: Object.fromEntries([...Object.entries(inputs), ...defaults]) };
};
