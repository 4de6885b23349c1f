import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isJsonObject,
  parseJson,
  withLongIntegersAsTexts,
  readJsonText,
  type JsonValue,
} from '../src/json.ts';
import {
  compareNumbers,
  wholeNumber,
  isExactNumber,
  numberOf,
  numberProblem,
  numberText,
  type JsonNumber,
} from '../src/exact-number.ts';

const again = (text: string): string => JSON.stringify(parseJson(text));

/** The texts of numbers as JSON allows them, those that somebody may write more often than others. */
const numberTexts = fc
  .oneof(
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.stringMatching(/^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?$/),
    fc.constantFrom(
      '4.0',
      '-0',
      '0',
      '-0.0',
      '1E5',
      '1e5',
      '0.1000000000000000055',
      '9007199254740993',
      '1e308',
    ),
  )
  .filter((text) => numberProblem(text) === undefined);

/** A JSON text with any numbers, and with spaces. */
const jsonTexts = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    numberTexts,
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom('null', 'true', '"\\\\"', '"\\"18446744073709551615, \\\\"', '"4.0"'),
    fc.array(tie('value'), { maxLength: 5 }).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(fc.oneof(fc.string(), fc.constantFrom('__proto__', '1', '4.0')), tie('value')), {
        maxLength: 5,
        selector: ([name]) => name,
      })
      .map(
        (members) =>
          `{ ${members.map(([name, value]) => `${JSON.stringify(name)} : ${value}`).join(' , ')} }`,
      ),
  ),
})).value;

/** The numbers of a JSON text that has no strings. */
const NUMBER = /-?\d[\d.eE+-]*/g;

describe('JSON that is read and written again', () => {
  it('has the numbers that it had, as they were written', () => {
    fc.assert(
      fc.property(fc.array(numberTexts), (texts) => {
        expect(again(`[${texts.join(', ')}]`)).toBe(`[${texts.join(',')}]`);
      }),
    );
  });

  it('is the same value, whatever surrounds its numbers', () => {
    fc.assert(
      fc.property(jsonTexts, (text) => {
        const written = again(text);
        expect(again(written)).toBe(written);
        // As doubles it is what JavaScript reads.
        expect(JSON.parse(written)).toEqual(JSON.parse(text));
        const withoutStrings = (json: string): string => json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
        expect((withoutStrings(written).match(NUMBER) ?? []).toSorted()).toEqual(
          (withoutStrings(text).match(NUMBER) ?? []).toSorted(),
        );
      }),
    );
  });

  it.each([
    '6687881544318117707',
    '18446744073709551615',
    '-9007199254740993',
    '4.0',
    '-0',
    '1E5',
    '1e5',
    '0.1000000000000000055',
    '123456789012345678901234567890',
  ])('keeps %s', (text) => {
    expect(again(`{"seed":[${text}]}`)).toBe(`{"seed":[${text}]}`);
  });

  it('takes the last of two members, with its digits', () => {
    expect(again('{"a":9007199254740993,"a":9007199254740995}')).toBe('{"a":9007199254740995}');
    expect(again('{"a":{"b":1.0},"a":2}')).toBe('{"a":2}');
    expect(again('{"a":2,"a":{"b":1.0}}')).toBe('{"a":{"b":1.0}}');
  });

  it('takes __proto__ for an ordinary name', () => {
    const value = parseJson('{"__proto__":{"seed":9007199254740993}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"seed":9007199254740993}}');
  });

  it.each([
    ['1e400', 'too large'],
    ['-1e400', 'too large'],
    ['1e-400', 'too small'],
    [`1${'0'.repeat(309)}`, 'too large'],
    [`0.${'1'.repeat(400)}`, 'more than 400 characters'],
    ['9'.repeat(1_000_000), 'more than 400 characters'],
  ])('is refused with %s, which is %s', (text, why) => {
    expect(readJsonText(`{"a": ${text}}`)).toEqual({
      kind: 'invalid',
      problem: 'number',
      why: expect.stringContaining(why),
      position: 6,
    });
    expect(parseJson(`[${text}]`)).toBeUndefined();
  });

  it('is refused when it nests deeply around a number that must be kept', () => {
    const text = `${'['.repeat(500_000)}9007199254740993${']'.repeat(500_000)}`;
    expect(readJsonText(text)).toMatchObject({ kind: 'invalid', why: 'it nests too deeply' });
  });

  it.each(['', '{', '01', '1.', '.5', '+1', 'NaN', '[1e]', '{4.0:1}', '"\u0001"'])('is none: %s', (text) => {
    expect(readJsonText(text)).toMatchObject({ kind: 'invalid', why: 'it is not valid JSON' });
  });

  it('has ordinary numbers as ordinary values', () => {
    expect(parseJson('[0, -1, 1.5, 1e+21, 5e-324, 9007199254740991, 0.30000000000000004]')).toEqual([
      0, -1, 1.5, 1e21, 5e-324, 9007199254740991, 0.30000000000000004,
    ]);
    expect(isJsonObject(parseJson('4.0'))).toBe(false);
    expect(isExactNumber({ rawJSON: '4.0' } satisfies JsonValue)).toBe(false);
  });
});

describe('numbers are compared as decimal numbers', () => {
  it('in their order', () => {
    const ordered = [
      '-18446744073709551616',
      '-9007199254740993.5',
      '-9007199254740993',
      '-1e-300',
      '0',
      '1e-300',
    ]
      .concat(
        '9007199254740992',
        '9007199254740993',
        '18446744073709551615',
        '1.8446744073709551616E19',
        '1e308',
      )
      .map(numberOf);
    for (const [a, one] of ordered.entries())
      for (const [b, other] of ordered.entries())
        expect(Math.sign(compareNumbers(one, other))).toBe(Math.sign(a - b));
  });

  it.each([
    ['4.0', '4'],
    ['-0', '0'],
    ['1E5', '100000'],
    ['0e999999999', '0'],
    ['1844674407370955161500e-2', '18446744073709551615'],
  ])('%s is %s', (one, other) => {
    expect(compareNumbers(numberOf(one), numberOf(other))).toBe(0);
    expect(wholeNumber(numberOf(one))).toEqual(numberOf(other));
  });

  it('as integers are', () => {
    const integers = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n });
    fc.assert(
      fc.property(integers, integers, (a, b) => {
        const order = compareNumbers(numberOf(String(a)), numberOf(String(b)));
        expect(Math.sign(order)).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });

  it('a fraction is no whole number', () => {
    for (const text of ['0.5', '4.00000000000000000001', '1e-5'])
      expect(wholeNumber(numberOf(text)) satisfies JsonNumber | undefined).toBeUndefined();
    expect(numberText(numberOf('4.0'))).toBe('4.0');
  });
});

describe('an answer for clients that read doubles', () => {
  it.each([
    ['{"seed":6687881544318117707}', '{"seed":"6687881544318117707"}'],
    ['[-9007199254740993, 1]', '["-9007199254740993", 1]'],
    ['{"18446744073709551615":"18446744073709551615, 9007199254740993"}', null],
    ['[4.0,-0,1E5,0.1000000000000000055,9007199254740992]', null],
  ])('of %s is %s', (text, shown) => {
    expect(withLongIntegersAsTexts(text)).toBe(shown ?? text);
  });

  it('has no integer that JavaScript would write with other digits', () => {
    fc.assert(
      fc.property(jsonTexts, (text) => {
        const integers = (value: unknown): number[] =>
          typeof value === 'number' && Number.isInteger(value)
            ? [value]
            : typeof value === 'object' && value !== null
              ? Object.values(value).flatMap(integers)
              : [];
        const shown = withLongIntegersAsTexts(text);
        for (const integer of integers(JSON.parse(shown)))
          expect(shown).toMatch(new RegExp(`${integer}|[.eE]|-0`.replaceAll('+', '\\+')));
      }),
    );
  });
});
