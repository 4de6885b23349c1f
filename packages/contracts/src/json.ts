import { Type } from 'typebox';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

export const Json = Type.Unsafe<JsonValue>(Type.Unknown());
export const JsonRecord = Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: true }));

/** The size of a value as JSON in UTF-8 bytes, the unit of every limit on inputs, outputs and workflows. */
export const jsonBytes = (value: JsonValue): number =>
  new TextEncoder().encode(JSON.stringify(value)).byteLength;
