import { expect, it } from 'vitest';
import { recentlyUsed } from '../../src/concurrency/recently-used.ts';

it('what was used the longest time ago is forgotten, and the rest is kept', () => {
  const made: string[] = [];
  const of = recentlyUsed(3, (key: string) => {
    made.push(key);
    return { key };
  });
  const first = of('a');
  for (const key of ['b', 'c', 'a', 'd', 'a', 'c']) of(key);
  expect(made).toEqual(['a', 'b', 'c', 'd']);
  expect(of('a')).toBe(first);
  of('b');
  expect(made).toEqual(['a', 'b', 'c', 'd', 'b']);
});
