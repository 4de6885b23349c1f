import { Type } from 'typebox';
import type { JsonObject, JsonValue } from './json.ts';
import { isExactNumber, type ExactNumber, type JsonNumber } from './numbers/exact-number.ts';

export const Json = Type.Unsafe<JsonValue>(Type.Unknown());
export const JsonRecord = Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: true }));

/** A branch for numbers that no double holds. The OpenAPI document does not have it: they are numbers there. */
export const Exact = Type.Unsafe<ExactNumber>(
  Type.Refine(Type.Unknown({ 'x-exact-number': true }), isExactNumber),
);

/** A number that a user wrote. */
export const UserNumber = Type.Unsafe<JsonNumber>(Type.Union([Type.Number(), Exact]));

/** The same, where an integer may be a text of its digits: so answers show one that a double would change. */
export const ShownNumber = Type.Unsafe<JsonNumber | string>(
  Type.Union([Type.Number(), Type.String({ pattern: '^-?(?:0|[1-9][0-9]{0,308})$' }), Exact]),
);
