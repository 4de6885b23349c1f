import { Type } from 'typebox';

/** An optional member of a request: null counts as omitted. */
export const optional = <Schema extends Type.TSchema>(
  schema: Schema,
): Type.TOptional<Type.TUnion<[Schema, Type.TNull]>> => Type.Optional(Type.Union([schema, Type.Null()]));

/** A member of a response that is always present, and null while it is unknown. */
export const nullable = <Schema extends Type.TSchema>(schema: Schema): Type.TUnion<[Schema, Type.TNull]> =>
  Type.Union([schema, Type.Null()]);
