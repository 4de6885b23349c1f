import { expect, it } from 'vitest';
import { perMinute } from '../src/per-minute.ts';

const MINUTE_MS = 60_000;

it('lets so many of a kind through in a minute, and says in the next how many it left out', () => {
  let now = 0;
  const lines = perMinute(1, () => now);
  expect([lines('a'), lines('a'), lines('b'), lines('a')]).toEqual([{}, undefined, {}, undefined]);
  now = MINUTE_MS;
  expect([lines('a'), lines('b')]).toEqual([{ more_like_this: 2 }, {}]);
  expect(lines('a')).toBeUndefined();
  const pairs = perMinute(2, () => now);
  expect([pairs('a'), pairs('a'), pairs('a')]).toEqual([{}, {}, undefined]);
});

it('keeps a bounded number of kinds', () => {
  const lines = perMinute(1, () => 0);
  for (let kind = 0; kind < 1_001; kind += 1) expect(lines(`kind ${kind}`)).toEqual({});
  expect(lines('kind 1000')).toBeUndefined();
  expect(lines('kind 0')).toEqual({});
});
