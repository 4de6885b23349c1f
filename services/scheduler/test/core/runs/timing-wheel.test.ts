import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TimingWheel } from '../../../src/core/runs/deadlines.ts';

it('rows are taken once, when their times have passed, the earliest first', () => {
  // Of several pages.
  const row = fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 3_000 }));
  const ms = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.constantFrom(1_000, 1_999, 2_000));
  const change = fc.record({ row, ms: fc.option(ms) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 100, size: 'max' }), fc.array(ms), (changes, times) => {
      const wheel = new TimingWheel();
      const known = new Map<number, number>();
      for (const one of changes) {
        if (one.ms === null) wheel.delete(one.row);
        else wheel.set(one.row, one.ms);
        if (one.ms === null) known.delete(one.row);
        else known.set(one.row, one.ms);
        expect(wheel.has(one.row)).toBe(known.has(one.row));
      }
      for (const now of times.toSorted((a, b) => a - b)) {
        const passed = [...known].filter(([, at]) => at <= now);
        for (const [one] of passed) known.delete(one);
        const taken = [...wheel.take(now)];
        expect(taken.toSorted((a, b) => a - b)).toEqual(passed.map(([one]) => one).toSorted((a, b) => a - b));
        const ats = taken.map((one) => new Map(passed).get(one) ?? 0);
        expect(ats).toEqual(ats.toSorted((a, b) => a - b));
      }
    }),
  );
});
