import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { waitLeftS, waitS } from '../../../src/accounts/core/sign-in-waits.ts';

describe('the wait after failed sign-ins', () => {
  it('begins after those that are free, and grows to a minute', () => {
    expect([4, 5, 6, 7, 8, 9, 2_000].map((failures) => waitS(failures, 5))).toEqual([
      0, 5, 10, 20, 40, 60, 60,
    ]);
  });

  it('is over after its seconds, and never before', () => {
    const counts = fc.record({ failures: fc.nat(50), at: fc.nat(2 ** 40) });
    fc.assert(
      fc.property(counts, fc.nat(120_000), (failed, later) => {
        const left = waitLeftS(failed, failed.at + later, 5);
        const wait = waitS(failed.failures, 5) * 1_000;
        expect(left > 0).toBe(later < wait);
        expect(waitLeftS(failed, failed.at + later + left * 1_000, 5)).toBe(0);
      }),
    );
  });
});
