import { describe, expect, it } from 'vitest';
import { unwantedOf } from '../../src/folders/unwanted-caches.decide.ts';

const cache = (name: string, bytes: number, lastUsed: number, isHeld = false) => ({
  name,
  bytes,
  lastUsed,
  isHeld,
});

const goneOf = (...caches: ReturnType<typeof cache>[]): string[] =>
  unwantedOf(caches, { now: 1_000, maxUnusedMs: 500, maxBytes: 100 }).map(
    ({ cache: { name }, why }) => `${name}: ${why}`,
  );

describe('the caches that go', () => {
  it('are none within the limit', () => {
    expect(goneOf(cache('a', 60, 900), cache('b', 40, 600))).toEqual([]);
  });

  it('are those that nobody has used for long', () => {
    expect(goneOf(cache('a', 1, 400), cache('b', 1, 600), cache('held', 1, 400, true))).toEqual([
      'a: unused',
    ]);
  });

  it('are so many of the least recently used that the others are within the limit', () => {
    expect(goneOf(cache('new', 60, 900), cache('old', 50, 700), cache('older', 50, 600))).toEqual([
      'older: limit',
      'old: limit',
    ]);
  });

  it('are first those that no process has, and none that is empty', () => {
    expect(goneOf(cache('held', 60, 600, true), cache('empty', 0, 700), cache('free', 60, 900))).toEqual([
      'free: limit',
    ]);
  });

  it('are also those that a process has, when nothing else helps', () => {
    expect(goneOf(cache('held', 160, 900, true), cache('free', 10, 900))).toEqual([
      'free: limit',
      'held: limit',
    ]);
  });
});
