import { describe, expect, it } from 'vitest';
import { assignPartitions } from '../src/membership-term.ts';

type Claims = Readonly<Record<string, readonly number[]>>;

const assign = (partitions: number, living: readonly string[], claims: Claims): Claims =>
  Object.fromEntries(
    assignPartitions(
      partitions,
      living,
      (partition) => Object.entries(claims).find(([, claimed]) => claimed.includes(partition))?.[0],
    ),
  );

describe('partitions are assigned', () => {
  it('all to a single member', () => expect(assign(4, ['a'], {})).toEqual({ a: [0, 1, 2, 3] }));

  it('evenly, with the remainder to some', () => {
    expect(assign(4, ['b', 'a'], {})).toEqual({ a: [0, 1], b: [2, 3] });
    expect(assign(5, ['b', 'a'], {})).toEqual({ a: [0, 1, 2], b: [3, 4] });
    expect(assign(1, ['a', 'b', 'c'], {})).toEqual({ a: [0], b: [], c: [] });
  });

  it('so that a new member gets some of each, and nothing else moves', () =>
    expect(assign(8, ['a', 'b', 'c'], { b: [0, 1, 2, 3], c: [4, 5, 6, 7] })).toEqual({
      a: [3, 7],
      b: [0, 1, 2],
      c: [4, 5, 6],
    }));

  it('so that those of a member that left are taken, and nothing else moves', () =>
    expect(assign(6, ['a', 'b'], { a: [0, 1], b: [2, 3], left: [4, 5] })).toEqual({
      a: [0, 1, 4],
      b: [2, 3, 5],
    }));

  it('in the same way while a new member waits for them', () => {
    const living = ['a', 'b', 'new'];
    const wanted = assign(16, living, { a: [0, 1, 2, 3, 4, 5, 6, 7], b: [8, 9, 10, 11, 12, 13, 14, 15] });
    expect(wanted).toEqual({ a: [0, 1, 2, 3, 4, 5], b: [8, 9, 10, 11, 12], new: [6, 7, 13, 14, 15] });
    const onTheWay = { a: [0, 1, 2, 3, 4, 5], b: [8, 9, 10, 11, 12, 13, 14, 15], new: [7] };
    expect(assign(16, living, onTheWay)).toEqual({ ...wanted, new: [7, 6, 13, 14, 15] });
    expect(assign(16, living, wanted)).toEqual(wanted);
  });
});
