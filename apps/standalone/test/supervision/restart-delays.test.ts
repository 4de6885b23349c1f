import { expect, it } from 'vitest';
import { restartDelays } from '../../src/supervision/restart-delays.ts';

it('starts with half a second and doubles up to 30 s while the process keeps ending', () => {
  const delayAfter = restartDelays();
  const delays = Array.from({ length: 9 }, () => delayAfter(1_000));
  expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

it('starts again with half a second after the process ran for a minute', () => {
  const delayAfter = restartDelays();
  for (let starts = 0; starts < 9; starts += 1) delayAfter(1_000);
  expect(delayAfter(59_999)).toBe(30_000);
  expect(delayAfter(60_000)).toBe(500);
});
