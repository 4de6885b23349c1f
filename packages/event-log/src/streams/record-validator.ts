import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { Static, TSchema } from 'typebox';

/** A stored or new record of a bucket does not match its schema. */
export class InvalidRecord extends TypeError {
  override readonly name = 'InvalidRecord';
  readonly code = 'invalid_record';
}

/** Gives the value when it matches the schema. @throws {InvalidRecord} */
export const recordValidator = <Schema extends TSchema>(
  bucket: string,
  schema: Schema,
): ((key: string, value: unknown) => Static<Schema>) => {
  const compiled = compiledSchema(schema);
  return (key, value) => {
    if (compiled.Check(value)) return value;
    const [first] = compiled.Errors(value);
    const where = first
      ? `${first.instancePath || 'the value'} ${first.message}`
      : 'the value has another shape';
    throw new InvalidRecord(`The record ${key} of ${bucket} does not match its schema: ${where}.`);
  };
};
