import { Type } from 'typebox';
import type { JsonObject, JsonValue } from './json.ts';

export const Json = Type.Unsafe<JsonValue>(Type.Unknown());
export const JsonRecord = Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: true }));
