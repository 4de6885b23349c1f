import { Type } from 'typebox';

/** A member of a request that may be left out: null counts as left out. */
export const optional = <Schema extends Type.TSchema>(
  schema: Schema,
): Type.TOptional<Type.TUnion<[Schema, Type.TNull]>> => Type.Optional(Type.Union([schema, Type.Null()]));

/** A member of a response that is always there, and null while it is not known. */
export const nullable = <Schema extends Type.TSchema>(schema: Schema): Type.TUnion<[Schema, Type.TNull]> =>
  Type.Union([schema, Type.Null()]);
