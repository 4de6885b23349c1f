// No packages: the supervisor of each attempt loads this file, and typebox would take it most of its start.

import { isExactNumber, isIntegerText, numberOf, numberProblem, type ExactNumber } from './exact-number.ts';

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

export type JsonValue = null | boolean | number | ExactNumber | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

export type ReadJsonText =
  | { readonly kind: 'json'; readonly value: JsonValue }
  /** `why` is the rest of a sentence. `position`: where in the text, if that is known. */
  | {
      readonly kind: 'invalid';
      readonly problem: 'syntax' | 'number' | 'depth';
      readonly why: string;
      readonly position: number | undefined;
    };

/**
 * The one reader of JSON that users send or programs print. No number is rounded: what a double would write differently is an
 * ExactNumber. A number beyond the range of a double is refused, as is one of more than 400 characters.
 */
export const readJsonText = (text: string): ReadJsonText => {
  let value: JsonValue;
  try {
    // It returns nothing else.
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    return { kind: 'invalid', problem: 'syntax', why: 'it is not valid JSON', position: positionIn(error) };
  }
  const exact = rewrittenNumbers(text);
  return exact.length === 0 ? { kind: 'json', value } : withExact(text, exact);
};

const withExact = (text: string, exact: readonly NumberInText[]): ReadJsonText => {
  for (const number of exact) {
    const why = numberProblem(number.text);
    if (why !== undefined) return { kind: 'invalid', problem: 'number', why, position: number.index };
  }
  try {
    return { kind: 'json', value: JSON.parse(text, exactly) as JsonValue };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { kind: 'invalid', problem: 'depth', why: 'it nests too deeply', position: undefined };
  }
};

/** Engines that have no ExactNumber give no `source` either. */
const exactly = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? numberOf(context?.source ?? String(value)) : value;

const positionIn = (error: unknown): number | undefined => {
  const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
  return position === undefined ? undefined : Number(position);
};

/**
 * A value as an answer has it, for clients that read numbers as doubles: JSON in which an integer that a double would change is a string of
 * its digits. `4.0` stays as it is, and so does a fraction of many digits.
 */
export const answerJson = (value: unknown): string => withLongIntegersAsTexts(JSON.stringify(value));

/** The same of a JSON text. */
export const withLongIntegersAsTexts = (json: string): string => {
  const pieces: string[] = [];
  let from = 0;
  for (const { text, index } of rewrittenNumbers(json)) {
    if (!isIntegerText(text)) continue;
    pieces.push(json.slice(from, index), `"${text}"`);
    from = index + text.length;
  }
  return from === 0 ? json : pieces.join('') + json.slice(from);
};

/** A number in a JSON text, and where it begins. */
export interface NumberInText {
  readonly text: string;
  readonly index: number;
}

const NONE: readonly NumberInText[] = [];

// In UTF-16.
const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LARGE_E = 0x45;
const BACKSLASH = 0x5c;
const SMALL_E = 0x65;

/** An integer of fewer characters is a double, and is written as it stands. */
const LONG = 16;

/**
 * The numbers that JavaScript would not write as they stand in this JSON text, which must be valid. It takes a third of the time of
 * `JSON.parse`, since it looks at no character of a string: each body, event and line is looked at.
 */
export const rewrittenNumbers = (json: string): readonly NumberInText[] => {
  let found: NumberInText[] | undefined;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(json, at);
      if (end - at >= LONG || mayBeRewritten(json, at, end)) {
        const text = json.slice(at, end);
        if (String(Number(text)) !== text) (found ??= []).push({ text, index: at });
      }
      at = end - 1;
    }
  }
  return found ?? NONE;
};

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** The index of the quote that closes the string whose first quote is here. */
const endOfString = (json: string, begin: number): number => {
  let end = begin;
  do end = json.indexOf('"', end + 1);
  while (end !== -1 && isEscaped(json, end));
  return end === -1 ? json.length : end;
};

const isEscaped = (json: string, index: number): boolean => {
  let before = index - 1;
  while (json.charCodeAt(before) === BACKSLASH) before -= 1;
  return (index - before) % 2 === 0;
};

const endOfNumber = (json: string, begin: number): number => {
  let end = begin + 1;
  while (end < json.length && isOfNumber(json.charCodeAt(end))) end += 1;
  return end;
};

const isOfNumber = (code: number): boolean => isDigit(code) || isMark(code);

const isMark = (code: number): boolean =>
  code === POINT || code === LARGE_E || code === SMALL_E || code === PLUS || code === MINUS;

/** Of a short number: it is `-0`, or has a fraction or an exponent. */
const mayBeRewritten = (json: string, begin: number, end: number): boolean => {
  if (json.charCodeAt(begin) === MINUS && json.charCodeAt(begin + 1) === ZERO) return true;
  for (let at = begin + 1; at < end; at += 1) if (isMark(json.charCodeAt(at))) return true;
  return false;
};
