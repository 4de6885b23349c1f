import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LowWatermark } from '../../src/core/partition.ts';

describe('the low watermark of a stream', () => {
  it('is the last message taken while none is open', () => {
    const water = new LowWatermark(5);
    expect([water.low(), water.taken()]).toEqual([5, 5]);
    water.take(9);
    water.take(7);
    expect([water.low(), water.taken()]).toEqual([9, 9]);
  });

  it('is before the first open message, and jumps when that is settled', () => {
    const water = new LowWatermark(0);
    for (const sequence of [1, 2, 3]) {
      water.open(sequence);
      water.take(sequence);
    }
    water.settle(2);
    expect(water.low()).toBe(0);
    water.settle(1);
    expect(water.low()).toBe(2);
    water.settle(3);
    expect(water.low()).toBe(3);
  });

  it('waits for everything that was opened at the same sequence', () => {
    const water = new LowWatermark(0);
    water.open(1);
    water.open(1);
    water.take(1);
    water.settle(1);
    expect(water.low()).toBe(0);
    water.settle(1);
    expect(water.low()).toBe(1);
  });

  it('ignores messages that were never open', () => {
    const water = new LowWatermark(3);
    water.settle(2);
    water.settle(8);
    expect(water.low()).toBe(3);
  });

  it('is never beyond an open message, never falls, and ends at the last message taken', () => {
    type Step = { readonly open: number } | { readonly skip: true } | { readonly settle: number };
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.record({ open: fc.integer({ min: 1, max: 3 }) }),
      fc.constant({ skip: true as const }),
      fc.record({ settle: fc.nat(1_000) }),
    );
    const always = fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const water = new LowWatermark(0);
      const open: number[] = [];
      let [next, before] = [0, 0];
      const settle = (which: number): void => {
        const [sequence] = open.splice(which % Math.max(open.length, 1), 1);
        if (sequence !== undefined) water.settle(sequence);
      };
      for (const one of steps) {
        if ('settle' in one) settle(one.settle);
        else {
          next += 1;
          const times = 'open' in one ? one.open : 0;
          for (let opened = 0; opened < times; opened += 1) {
            water.open(next);
            open.push(next);
          }
          water.take(next);
        }
        expect(water.low()).toBe(Math.min(next, ...open.map((sequence) => sequence - 1)));
        expect(water.low()).toBeGreaterThanOrEqual(before);
        before = water.low();
      }
      while (open.length > 0) settle(0);
      expect(water.low()).toBe(next);
    });
    expect(() => fc.assert(always)).not.toThrow();
  });
});
