import { numberOf, numberText, type JsonNumber } from './exact-number.ts';

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
