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
const MAX_NUMBER_LENGTH = 400;

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

/** Below 0 when the first is less, above 0 when it is more, 0 when they are equal: as decimal numbers, of which none is rounded. */
export const compareNumbers = (one: JsonNumber, other: JsonNumber): number => {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  const [a, b] = [decimalOf(numberText(one)), decimalOf(numberText(other))];
  const exponent = Math.min(a.exponent, b.exponent);
  const [x, y] = [scaled(a, exponent), scaled(b, exponent)];
  return x < y ? -1 : x > y ? 1 : 0;
};

/** A whole number, however it is written, as its digits: `4` for `4.0`. Undefined for any other. */
export const wholeNumber = (value: JsonNumber): JsonNumber | undefined => {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  const { digits, exponent } = decimalOf(value.rawJSON);
  if (exponent >= 0) return numberOf(String(digits * 10n ** BigInt(exponent)));
  const unit = 10n ** BigInt(-exponent);
  return digits % unit === 0n ? numberOf(String(digits / unit)) : undefined;
};

/** `digits` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

const NUMBER = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The range of a double and the length of a number bound the exponent. */
const decimalOf = (text: string): Decimal => {
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const digits = BigInt(whole + fraction);
  return { digits, exponent: digits === 0n ? 0 : Number(exponent) - fraction.length };
};

const scaled = ({ digits, exponent }: Decimal, to: number): bigint => digits * 10n ** BigInt(exponent - to);
