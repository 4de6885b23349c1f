import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

/** A stored or new record of a bucket does not match its schema. */
export class InvalidRecord extends TypeError {
  override readonly name = 'InvalidRecord';
  readonly code = 'invalid_record';
}

// Schemas are constants: each is compiled once in a process, however often its bucket is opened.
const validators = new WeakMap<TSchema, Validator>();

const compiledOf = (schema: TSchema): Validator => {
  const known = validators.get(schema);
  if (known) return known;
  const validator = Compile(schema);
  validators.set(schema, validator);
  return validator;
};

/** Gives the value when it matches the schema. @throws {InvalidRecord} */
export const recordValidator = <Schema extends TSchema>(
  bucket: string,
  schema: Schema,
): ((key: string, value: unknown) => Static<Schema>) => {
  const compiled = compiledOf(schema);
  return (key, value) => {
    if (compiled.Check(value)) return value as Static<Schema>;
    const [first] = compiled.Errors(value);
    const where = first
      ? `${first.instancePath || 'the value'} ${first.message}`
      : 'the value has another shape';
    throw new InvalidRecord(`The record ${key} of ${bucket} does not match its schema: ${where}.`);
  };
};
