import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OrderStatisticList } from '../../../src/core/runs/order-statistic-list.ts';

const listOfNumbers = () => new OrderStatisticList((number) => number);
const countBelow = (list: OrderStatisticList, number: number): number =>
  list.countWhile((other) => other < number);

describe('an order-statistic list', () => {
  it('knows its lowest number and how many are below any number, after any change', () => {
    const change = fc.record({
      from: fc.nat({ max: 6_000 }),
      count: fc.integer({ min: 1, max: 1_500 }),
      adds: fc.constantFrom('one by one', 'at once', null),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30, size: 'max' }), (changes) => {
        const numbers = listOfNumbers();
        const plain = new Set<number>();
        for (const { from, count, adds } of changes) {
          const [removed, expected]: [boolean[], boolean[]] = [[], []];
          const changed = Array.from({ length: count }, (_, index) => from + index);
          if (adds === 'at once') numbers.addAll(changed);
          for (const number of changed) {
            if (adds === 'one by one') numbers.add(number);
            else if (adds === null) removed.push(numbers.delete(number));
            if (adds) plain.add(number);
            else expected.push(plain.delete(number));
          }
          expect(removed).toEqual(expected);
          const sorted = [...plain].toSorted((a, b) => a - b);
          expect(numbers.size).toBe(plain.size);
          expect(numbers.first()).toBe(sorted[0]);
          expect(sorted.map((number) => countBelow(numbers, number))).toEqual([...sorted.keys()]);
          expect([-1, 7_501].map((number) => countBelow(numbers, number))).toEqual([0, plain.size]);
          const below = sorted.filter((number) => number < from).length;
          expect(countBelow(numbers, from)).toBe(below);
        }
      }),
      { numRuns: casesOf(20) },
    );
  });

  it('can be copied, and what changes in one of the two does not change in the other', () => {
    const row = fc.nat({ max: 5_000 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 50 }), fc.array(row, { maxLength: 50 }), (deleted, added) => {
        const numbers = listOfNumbers();
        numbers.addAll(Array.from({ length: 2_500 }, (_, index) => 2 * index));
        const copy = numbers.copy();
        for (const number of deleted) numbers.delete(number);
        for (const number of added) copy.add(number);
        const plain = new Set(Array.from({ length: 2_500 }, (_, index) => 2 * index));
        const [left, more] = [plain.difference(new Set(deleted)), plain.union(new Set(added))];
        for (const [list, expected] of [
          [numbers, left],
          [copy, more],
        ] as const) {
          expect(list.size).toBe(expected.size);
          for (const number of [0, 1_000, 2_047, 2_048, 4_096, 5_001])
            expect(countBelow(list, number)).toBe([...expected].filter((one) => one < number).length);
        }
      }),
      { numRuns: casesOf(20) },
    );
  });

  it('counts among a hundred thousand that are added and removed in order, backwards or in the middle', () => {
    const numbers = listOfNumbers();
    for (let number = 1; number <= 100_000; number += 1) numbers.add(number * 2);
    for (let number = 1; number <= 10_000; number += 1) numbers.delete(number * 2);
    for (let number = 100_000; number > 90_000; number -= 1) numbers.delete(number * 2);
    for (let number = 50_000; number > 40_000; number -= 1) numbers.add(number * 2 + 1);
    expect(numbers.size).toBe(90_000);
    expect(numbers.first()).toBe(20_002);
    expect(countBelow(numbers, 20_002)).toBe(0);
    expect(countBelow(numbers, 80_002)).toBe(30_000);
    expect(countBelow(numbers, 100_002)).toBe(50_000);
    expect(countBelow(numbers, Infinity)).toBe(90_000);
  });
});
