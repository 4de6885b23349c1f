import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Deadlines } from '../../../src/core/runs/deadlines.ts';

const columns = () => {
  const [deadlines, before, after] = [
    new Map<number, number>(),
    new Map<number, number>(),
    new Map<number, number>(),
  ];
  const get = (of: Map<number, number>, row: number, otherwise: number): number => of.get(row) ?? otherwise;
  return {
    deadlineOf: (row: number) => get(deadlines, row, 0),
    setDeadline: (row: number, ms: number) => void deadlines.set(row, ms),
    beforeOf: (row: number) => get(before, row, -1),
    setBefore: (row: number, other: number) => void before.set(row, other),
    afterOf: (row: number) => get(after, row, -1),
    setAfter: (row: number, other: number) => void after.set(row, other),
  };
};

it('deadlines are taken once, when they have passed, the earliest first', () => {
  const row = fc.nat({ max: 30 });
  const ms = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.constantFrom(1_000, 1_999, 2_000));
  const change = fc.record({ row, ms: fc.option(ms) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 100, size: 'max' }), fc.array(ms), (changes, times) => {
      const deadlines = new Deadlines(columns());
      const known = new Map<number, number>();
      for (const one of changes) {
        if (one.ms === null) deadlines.delete(one.row);
        else deadlines.set(one.row, one.ms);
        if (one.ms === null) known.delete(one.row);
        else known.set(one.row, one.ms);
      }
      for (const now of times.toSorted((a, b) => a - b)) {
        const expired = [...known].filter(([, at]) => at <= now);
        for (const [one] of expired) known.delete(one);
        const taken = [...deadlines.take(now)];
        expect(taken.toSorted((a, b) => a - b)).toEqual(
          expired.map(([one]) => one).toSorted((a, b) => a - b),
        );
        const ats = taken.map((one) => new Map(expired).get(one) ?? 0);
        expect(ats).toEqual(ats.toSorted((a, b) => a - b));
      }
    }),
  );
});
