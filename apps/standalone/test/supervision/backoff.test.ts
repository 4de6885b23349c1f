import { expect, it } from 'vitest';
import { nextDelay } from '../../src/supervision/backoff.ts';

it('begins with half a second and doubles up to 30 s while the part keeps ending', () => {
  const delays: number[] = [];
  for (let count = 0; count < 9; count += 1) delays.push(nextDelay(delays.at(-1), 1_000));
  expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

it('begins anew after a minute of good life', () => {
  expect(nextDelay(30_000, 59_999)).toBe(30_000);
  expect(nextDelay(30_000, 60_000)).toBe(500);
});
