import { Compile, type Validator } from 'typebox/compile';
import type { TValidationError } from 'typebox/error';
import type { Node } from './node.ts';

// Schemas are constants: each part is compiled once in a process, when it is first needed.
const validators = new WeakMap<Node, Validator>();

const compiled = (schema: Node): Validator => {
  const known = validators.get(schema);
  if (known) return known;
  const validator = Compile(schema);
  validators.set(schema, validator);
  return validator;
};

/** Whether a value fits a schema. */
export const fits = (schema: Node, value: unknown): boolean => compiled(schema).Check(value);

/** The errors of typebox for a value that does not fit. For a value with many members the list is incomplete. */
export const errorsOf = (schema: Node, value: unknown): readonly TValidationError[] =>
  compiled(schema).Errors(value);
