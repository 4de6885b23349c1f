import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeOf, timeText } from '../../../src/core/runs/time-text.ts';

const DAY_MS = 86_400_000;

describe('a time', () => {
  const any = fc.integer({ min: Date.UTC(-1), max: Date.UTC(12_000) });
  const ofFewDays = fc.integer({ min: Date.UTC(2026), max: Date.UTC(2026) + 3 * DAY_MS });

  it('is written as dates are', () => {
    fc.assert(
      fc.property(fc.oneof(any, ofFewDays), (ms) => {
        expect(timeText(ms)).toBe(new Date(ms).toISOString());
      }),
    );
  });

  it('is read as dates are, whatever the text', () => {
    const text = fc.oneof(any, ofFewDays).map((ms) => new Date(ms).toISOString());
    const damage = fc.record({
      at: fc.nat({ max: 26 }),
      by: fc.constantFrom(...'0259:.-TZ +é'.split(''), ''),
    });
    fc.assert(
      fc.property(text, fc.option(damage, { freq: 3 }), (whole, damaged) => {
        const { at, by } = damaged ?? { at: 0, by: whole.slice(0, 1) };
        const given = whole.slice(0, at) + by + whole.slice(at + 1);
        expect(timeOf(given)).toBe(Date.parse(given));
      }),
      { numRuns: casesOf(200) },
    );
  });

  it.each(['2026-01-01T24:00:00.000Z', '2026-01-01T23:60:00.000Z', '2026-01-01T00:00:00Z', ''])(
    'is read from "%s" as dates are',
    (given) => {
      timeOf('2026-01-01T12:00:00.000Z');
      expect(timeOf(given)).toBe(Date.parse(given));
    },
  );
});
