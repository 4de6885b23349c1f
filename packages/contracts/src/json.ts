// No packages: the supervisor of each attempt loads this file, and typebox would take it most of its start.
import { isExactNumber } from './numbers/exact-number.ts';
import { readJsonText, type JsonObject, type JsonValue } from './numbers/read-json-text.ts';

export type { JsonObject, JsonValue };

/** Whether arrays and objects are nested at most this deep. It looks no deeper, so deep input does not overflow the stack. */
export const isNestedAtMost = (depth: number, value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return isExactNumber(value);
  if (Array.isArray(value)) return value.every((member) => isNestedAtMost(depth - 1, member));
  const members = value as Readonly<Record<string, unknown>>;
  // Every event is looked at: an array of the members would take three times as long.
  for (const name in members) {
    const member = members[name];
    if (typeof member === 'object' && !isNestedAtMost(depth - 1, member)) return false;
  }
  return true;
};

const utf8 = new TextEncoder();

/** The size of a value as JSON in UTF-8 bytes, the unit of every limit on inputs, outputs and workflows. */
export const jsonBytes = (value: JsonValue): number => utf8.encode(JSON.stringify(value)).byteLength;

/** With `readJsonText`, so no number is rounded. Undefined for text that is not JSON, or holds a number that cannot be kept. */
export const parseJson = (text: string): unknown => {
  const read = readJsonText(text);
  return read.kind === 'json' ? read.value : undefined;
};

/**
 * JSON whose numbers are looked at as doubles and go nowhere: of settings, and between our own processes. Undefined for text that is not
 * JSON.
 */
export const parsePlainJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Neither null nor an array, nor an exact number. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
