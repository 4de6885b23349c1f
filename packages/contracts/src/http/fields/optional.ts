import { Type } from 'typebox';

/**
 * An optional member of a request. `otherwise` says what null means, for the document: it follows the description of the schema, and by
 * default null counts as omitted.
 */
export const optional = <Schema extends Type.TSchema>(
  schema: Schema,
  otherwise = 'Null counts as omitted.',
): Type.TOptional<Type.TUnion<[Schema, Type.TNull]>> =>
  Type.Optional(Type.Union([schema, Type.Null()], { description: otherwise }));

/** An optional member of a change of a record. */
export const unchanged = <Schema extends Type.TSchema>(
  schema: Schema,
): Type.TOptional<Type.TUnion<[Schema, Type.TNull]>> =>
  optional(schema, 'Unchanged when it is null or omitted.');

/**
 * A member of a response that is always present, and null while it is unknown. `whenNull` follows the description of the schema in the
 * document; left out where that says it.
 */
export const nullable = <Schema extends Type.TSchema>(
  schema: Schema,
  whenNull?: string,
): Type.TUnion<[Schema, Type.TNull]> =>
  Type.Union([schema, Type.Null()], whenNull === undefined ? {} : { description: whenNull });
