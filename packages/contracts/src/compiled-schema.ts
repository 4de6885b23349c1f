import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

const validators = new WeakMap<TSchema, Validator>();

/** The validator of a schema that is a constant: it is compiled once in a process, when it is first needed. */
export const compiledSchema = (schema: TSchema): Validator => {
  const known = validators.get(schema);
  if (known) return known;
  const validator = Compile(schema);
  validators.set(schema, validator);
  return validator;
};
