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
