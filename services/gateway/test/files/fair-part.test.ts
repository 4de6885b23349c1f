import { describe, expect, it } from 'vitest';
import { fairPart } from '../../src/files/stored-logs.ts';

describe('the fair part of a room', () => {
  it.each([
    [[10, 20], 30, undefined],
    [[], 0, undefined],
    [[100], 30, 30],
    [[5, 100], 30, 25],
    [[100, 5, 100], 35, 15],
    [[100, 10, 100, 10], 40, 10],
    [[1, 1], 0, 0],
  ])('of %j in %d is %s', (amounts, room, part) => {
    expect(fairPart(amounts, room)).toBe(part);
  });
});
