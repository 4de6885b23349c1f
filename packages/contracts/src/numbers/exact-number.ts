/**
 * A number as it stands in a JSON text, where a double would be written differently: `6687881544318117707`, `4.0`, `-0`, `1E5`.
 * `JSON.stringify` writes it as it stood there. Its digits are `numberText`, and `compareNumbers` compares it.
 */
export interface ExactNumber {
  readonly rawJSON: string;
}

export type JsonNumber = number | ExactNumber;

/** Of ECMAScript 2026: in Node since 21, in browsers since 2025. The types of TypeScript do not have it yet. */
interface RawJson {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
}
const { rawJSON, isRawJSON }: Partial<RawJson> = JSON as Partial<RawJson>;

export const isExactNumber = (value: unknown): value is ExactNumber => isRawJSON?.(value) ?? false;

export const isJsonNumber = (value: unknown): value is JsonNumber =>
  typeof value === 'number' || isExactNumber(value);

/** A number of a JSON text for which there is no `numberProblem`. */
export const numberOf = (text: string): JsonNumber => {
  const double = Number(text);
  return rawJSON && String(double) !== text ? rawJSON(text) : double;
};

const INTEGER_TEXT = /^(?:0|-?[1-9]\d*)$/;

/** Whether a text is an integer as JSON has it, which can be kept. */
export const isIntegerText = (text: string): boolean =>
  INTEGER_TEXT.test(text) && numberProblem(text) === undefined;

/** The digits of a number, as JSON has them. */
export const numberText = (value: JsonNumber): string =>
  typeof value === 'number' ? String(value) : value.rawJSON;

/** The double that is nearest to a number, for numbers that are looked at and not passed on. Undefined for anything else. */
export const doubleOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  return isExactNumber(value) ? Number(value.rawJSON) : undefined;
};

/** Longer ones are refused: a number in the range of a double has no more digits before its fraction than 309. */
export const MAX_NUMBER_LENGTH = 400;

const SIGNIFICANT = /^-?[0.]*[1-9]/;
const INTEGER = /^-?\d+$/;

/** Why a number of a JSON text cannot be kept, as the rest of a sentence; undefined when it can. */
export const numberProblem = (text: string): string | undefined => {
  if (text.length > MAX_NUMBER_LENGTH) return `a number has more than ${MAX_NUMBER_LENGTH} characters`;
  const double = Number(text);
  if (!Number.isFinite(double))
    return `the number ${shortened(text)} is too large, beyond the range of a double`;
  if (double === 0 && SIGNIFICANT.test(text))
    return `the number ${shortened(text)} is too small, beyond the range of a double`;
  if (!rawJSON && INTEGER.test(text) && String(double) !== text && double !== 0)
    return `this engine would round the number ${text}: use a newer browser or Node, or send it as a string`;
  return undefined;
};

const shortened = (text: string): string => (text.length <= 64 ? text : `${text.slice(0, 64)}…`);
