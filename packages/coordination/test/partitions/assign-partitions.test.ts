import { describe, expect, it } from 'vitest';
import { assignPartitions } from '../../src/partitions/assign-partitions.ts';

type Claims = Readonly<Record<string, readonly number[]>>;

const divide = (shares: number, living: readonly string[], claims: Claims): Claims =>
  Object.fromEntries(
    assignPartitions(
      shares,
      living,
      (share) => Object.entries(claims).find(([, claimed]) => claimed.includes(share))?.[0],
    ),
  );

describe('shares are divided', () => {
  it('all to one who is alone', () => expect(divide(4, ['a'], {})).toEqual({ a: [0, 1, 2, 3] }));

  it('evenly, and what remains to some', () => {
    expect(divide(4, ['b', 'a'], {})).toEqual({ a: [0, 1], b: [2, 3] });
    expect(divide(5, ['b', 'a'], {})).toEqual({ a: [0, 1, 2], b: [3, 4] });
    expect(divide(1, ['a', 'b', 'c'], {})).toEqual({ a: [0], b: [], c: [] });
  });

  it('so that a newcomer gets some of each, and nothing else moves', () =>
    expect(divide(8, ['a', 'b', 'c'], { b: [0, 1, 2, 3], c: [4, 5, 6, 7] })).toEqual({
      a: [3, 7],
      b: [0, 1, 2],
      c: [4, 5, 6],
    }));

  it('so that those of one who is gone are taken, and nothing else moves', () =>
    expect(divide(6, ['a', 'b'], { a: [0, 1], b: [2, 3], gone: [4, 5] })).toEqual({
      a: [0, 1, 4],
      b: [2, 3, 5],
    }));

  it('in the same way while a newcomer waits for them', () => {
    const living = ['a', 'b', 'new'];
    const asked = divide(16, living, { a: [0, 1, 2, 3, 4, 5, 6, 7], b: [8, 9, 10, 11, 12, 13, 14, 15] });
    expect(asked).toEqual({ a: [0, 1, 2, 3, 4, 5], b: [8, 9, 10, 11, 12], new: [6, 7, 13, 14, 15] });
    const onTheWay = { a: [0, 1, 2, 3, 4, 5], b: [8, 9, 10, 11, 12, 13, 14, 15], new: [7] };
    expect(divide(16, living, onTheWay)).toEqual({ ...asked, new: [7, 6, 13, 14, 15] });
    expect(divide(16, living, asked)).toEqual(asked);
  });
});
