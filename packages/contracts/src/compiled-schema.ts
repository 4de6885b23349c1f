import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

interface CompiledSchema<Schema extends TSchema> {
  readonly Check: (value: unknown) => value is Static<Schema>;
  readonly Errors: Validator['Errors'];
}

const known = new WeakMap<TSchema, CompiledSchema<TSchema>>();

/**
 * The validator of a schema that is a constant. It is compiled once in a process, when the first value is checked: compiling all
 * that a process knows takes longer than most commands.
 */
export const compiledSchema = <Schema extends TSchema>(schema: Schema): CompiledSchema<Schema> => {
  const existing = known.get(schema);
  if (existing) return existing;
  let validator: Validator | undefined;
  const compiled: CompiledSchema<Schema> = {
    Check: (value): value is Static<Schema> => (validator ??= Compile(schema)).Check(value),
    Errors: (value) => (validator ??= Compile(schema)).Errors(value),
  };
  known.set(schema, compiled);
  return compiled;
};
