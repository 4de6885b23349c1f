import { expect, it } from 'vitest';
import { CheckTurns } from '../src/reconciliation.ts';

type Unsettled = readonly [org: string, sequence: number, isFree?: boolean];

/** The sequences that each pass of a round checks, of runs that are stored in this order. */
const passes = (runs: readonly Unsettled[]): number[][] => {
  const turns = new CheckTurns();
  const all: number[][] = [];
  for (let from = 0; from < Infinity; from = turns.leftOutFrom) {
    if (all.length > 0) turns.next();
    const seen = runs.filter(([, sequence]) => sequence >= from);
    const checked = seen.filter(([org, sequence, isFree = false]) => turns.take(org, sequence, isFree));
    all.push(checked.map(([, sequence]) => sequence));
  }
  return all;
};

const MANY = Array.from({ length: 20_000 }, (_, index): Unsettled => ['many', index + 1]);
const FEW: readonly Unsettled[] = [
  ['few', 20_001],
  ['few', 20_002],
];

it('an organisation with very many has a part of them checked in each pass, and each of them once', () => {
  const all = passes(MANY);
  expect(all.map(({ length }) => length)).toEqual([5_000, 10_000, 5_000]);
  expect(new Set(all.flat()).size).toBe(20_000);
});

it('another organisation has its few checked in the first pass, although they lie behind', () => {
  const [first = [], ...others] = passes([...MANY, ...FEW]);
  expect(first.slice(-2)).toEqual([20_001, 20_002]);
  expect(others.flat()).not.toContain(20_001);
});

it('what costs no read does not count, and is not checked twice', () => {
  const free = MANY.map(([org, sequence]): Unsettled => [org, sequence, sequence % 2 === 0]);
  const all = passes(free);
  expect(all.map(({ length }) => length)).toEqual([10_000, 10_000]);
  expect(new Set(all.flat()).size).toBe(20_000);
});
