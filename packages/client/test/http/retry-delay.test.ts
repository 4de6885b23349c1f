import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  ApiError,
  ConnectionFailed,
  NotFound,
  RateLimited,
  Unavailable,
  type RefusalFacts,
} from '../../src/errors.ts';
import { retryDelay } from '../../src/http/retries.ts';

const facts = (retryAfter: number | null): RefusalFacts => ({
  status: 503,
  code: null,
  detail: '',
  requestId: null,
  retryAfter,
  body: undefined,
});
const first = { failures: 1, retries: 5, idempotent: true, chance: 1 };

it('a request that may be carried out twice is sent again when it may help', () => {
  const passing = [
    new ConnectionFailed(''),
    new Unavailable('', facts(null)),
    new RateLimited('', facts(null)),
  ];
  expect(passing.map((error) => retryDelay(error, first))).toEqual([500, 500, 500]);
  const lasting = [new NotFound('', facts(null)), new ApiError('', facts(null)), new Error('a bug')];
  expect(lasting.map((error) => retryDelay(error, first))).toEqual([undefined, undefined, undefined]);
});

it('another request is sent again only if the rate limit refused it', () => {
  const once = { ...first, idempotent: false };
  expect(retryDelay(new RateLimited('', facts(2)), once)).toBe(2_500);
  expect(retryDelay(new Unavailable('', facts(2)), once)).toBeUndefined();
  expect(retryDelay(new ConnectionFailed(''), once)).toBeUndefined();
});

it('who should wait for longer than a minute is told so', () => {
  expect(retryDelay(new RateLimited('', facts(60)), first)).toBe(60_500);
  expect(retryDelay(new RateLimited('', facts(61)), first)).toBeUndefined();
});

it('delays double up to 8 s, at least half of them passes, and their number is bounded', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.nat(20),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, retries, chance) => {
        const delay = retryDelay(new ConnectionFailed(''), { failures, retries, idempotent: true, chance });
        const longest = Math.min(8_000, 500 * 2 ** (failures - 1));
        const isInBounds = delay !== undefined && delay >= longest / 2 && delay <= longest;
        expect(failures > retries ? delay === undefined : isInBounds).toBe(true);
      },
    ),
  );
});
