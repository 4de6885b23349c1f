import { MAX_DELIVERY_ATTEMPTS } from '@runledger/contracts/deliveries/delivery-attempts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { delayAfter, delayAfterOwnFailure, parseRetryAfter } from '../../src/core/conclusion.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** In the middle of the jitter. */
const MIDDLE = 0.5;
const NOW = Date.parse('2026-03-01T12:00:00Z');

const delays = (): number[] =>
  Array.from({ length: MAX_DELIVERY_ATTEMPTS - 1 }, (_, at) => delayAfter(at + 1, undefined, MIDDLE) ?? 0);

const retryAfter = (text: string | null): number | undefined => parseRetryAfter(text, NOW, Date.parse);

describe('the schedule of retries', () => {
  it('makes 13 attempts in 71.7 hours', () => {
    expect(MAX_DELIVERY_ATTEMPTS).toBe(13);
    expect(delays().map((delay) => delay / 1_000)).toEqual([
      5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 72_000, 86_400,
    ]);
    const hours = delays().reduce((sum, delay) => sum + delay, 0) / HOUR;
    expect(hours).toBeCloseTo(71.7, 1);
  });

  it('ends after the 13th attempt, also when the response has Retry-After', () => {
    expect(delayAfter(MAX_DELIVERY_ATTEMPTS, undefined, MIDDLE)).toBeUndefined();
    expect(delayAfter(MAX_DELIVERY_ATTEMPTS, HOUR, MIDDLE)).toBeUndefined();
    expect(delayAfter(MAX_DELIVERY_ATTEMPTS + 1, undefined, MIDDLE)).toBeUndefined();
  });

  it('varies each delay at random by up to a fifth, up or down', () => {
    const tries = fc.integer({ min: 1, max: MAX_DELIVERY_ATTEMPTS - 1 });
    const always = fc.property(tries, fc.double({ min: 0, max: 1, noNaN: true }), (made, random) => {
      const middle = delays()[made - 1] ?? 0;
      const delay = delayAfter(made, undefined, random) ?? 0;
      expect(delay).toBeGreaterThanOrEqual(middle * 0.8 - 1e-6);
      expect(delay).toBeLessThanOrEqual(middle * 1.2 + 1e-6);
    });
    expect(() => fc.assert(always)).not.toThrow();
    expect(delayAfter(1, undefined, 0)).toBeCloseTo(4_000);
    expect(delayAfter(1, undefined, 1)).toBeCloseTo(6_000);
  });

  it('lengthens a delay to the Retry-After of the receiver, up to six hours, and never shortens it', () => {
    const tries = fc.integer({ min: 1, max: MAX_DELIVERY_ATTEMPTS - 1 });
    const asked = fc.oneof(fc.nat(100 * HOUR), fc.constant(Infinity));
    const always = fc.property(tries, asked, (made, asking) => {
      const alone = delayAfter(made, undefined, MIDDLE) ?? 0;
      expect(delayAfter(made, asking, MIDDLE)).toBe(Math.max(alone, Math.min(asking, 6 * HOUR)));
    });
    expect(() => fc.assert(always)).not.toThrow();
    expect(delayAfter(1, 10 * MINUTE, MIDDLE)).toBe(10 * MINUTE);
    expect(delayAfter(1, 1, MIDDLE)).toBe(5_000);
    expect(delayAfter(12, 48 * HOUR, MIDDLE)).toBe(24 * HOUR);
  });

  it('waits about 15 seconds after a failure on our side', () => {
    expect([0, 0.5, 1].map((random) => Math.round(delayAfterOwnFailure(random)))).toEqual([
      12_000, 15_000, 18_000,
    ]);
  });
});

describe('Retry-After', () => {
  it('is read as seconds', () => {
    expect(retryAfter('120')).toBe(120_000);
    expect(retryAfter(' 0 ')).toBe(0);
  });

  it.each([
    ['in the current form', 'Sun, 01 Mar 2026 12:10:00 GMT'],
    ['in the form of RFC 850', 'Sunday, 01-Mar-26 12:10:00 GMT'],
    ['in the form of asctime, as GMT in any time zone', 'Sun Mar  1 12:10:00 2026'],
  ])('is read as a date %s', (_, date) => {
    expect(retryAfter(date)).toBe(10 * MINUTE);
  });

  it.each([
    'Sun, 01 Mar 2026 11:59:59 GMT',
    'Sun, 01 Mar 2026 12:00:00 GMT',
    null,
    '',
    'soon',
    '-5',
    '1.5',
    '0x10',
    '1e3',
    '2026-03-01',
    'Sun, 99 Xyz 2026 12:10:00 GMT',
    'Sun, '.repeat(100),
  ])('is ignored when it is %j', (text) => {
    expect(retryAfter(text)).toBeUndefined();
  });

  it.each(['99999999999', '9'.repeat(400), 'Fri, 01 Jan 2100 00:00:00 GMT'])(
    'delays by six hours when it is %s',
    (text) => {
      expect(delayAfter(1, retryAfter(text), MIDDLE)).toBe(6 * HOUR);
    },
  );
});
