import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OrderStatisticList } from '../../../src/core/runs/order-statistic-list.ts';

describe('an order-statistic list', () => {
  it('knows its lowest number and how many are below any number, whatever is added and removed', () => {
    const change = fc.record({ number: fc.nat({ max: 60 }), adds: fc.boolean() });
    const blocks = fc.integer({ min: 2, max: 9 });
    fc.assert(
      fc.property(blocks, fc.array(change, { maxLength: 300, size: 'max' }), (mostInBlock, changes) => {
        const numbers = new OrderStatisticList(mostInBlock);
        const plain = new Set<number>();
        for (const { number, adds } of changes) {
          if (adds) {
            numbers.add(number);
            plain.add(number);
          } else {
            numbers.delete(number);
            plain.delete(number);
          }
          expect(numbers.size).toBe(plain.size);
          expect(numbers.first()).toBe(plain.size > 0 ? Math.min(...plain) : undefined);
          const below = [...plain].filter((other) => other < number).length;
          expect(numbers.countBelow(number)).toBe(below);
        }
        for (let number = -1; number <= 61; number += 1) {
          expect(numbers.countBelow(number)).toBe([...plain].filter((other) => other < number).length);
        }
      }),
    );
  });

  it('counts among a hundred thousand that are added and removed in order, backwards or in the middle', () => {
    const numbers = new OrderStatisticList();
    for (let number = 1; number <= 100_000; number += 1) numbers.add(number * 2);
    for (let number = 1; number <= 10_000; number += 1) numbers.delete(number * 2);
    for (let number = 100_000; number > 90_000; number -= 1) numbers.delete(number * 2);
    for (let number = 50_000; number > 40_000; number -= 1) numbers.add(number * 2 + 1);
    expect(numbers.size).toBe(90_000);
    expect(numbers.first()).toBe(20_002);
    expect(numbers.countBelow(20_002)).toBe(0);
    expect(numbers.countBelow(80_002)).toBe(30_000);
    expect(numbers.countBelow(100_002)).toBe(50_000);
    expect(numbers.countBelow(Infinity)).toBe(90_000);
  });
});
