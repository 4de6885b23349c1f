import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  failedAgain,
  waitLeftS,
  waitS,
  type FailedSignIns,
} from '../../../src/records/people/sign-in-limit.ts';

describe('the wait after failed sign-ins', () => {
  it('begins after those that are free, and grows to a minute', () => {
    expect([4, 4.2, 5, 6, 7, 8, 9, 2_000].map((failures) => waitS(failures, 5))).toEqual([
      0, 5, 5, 10, 20, 40, 60, 60,
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

  it('never comes for one failure in half a minute, and always for a series of them', () => {
    const after = (gapMs: number, times: number): FailedSignIns =>
      Array.from({ length: times }).reduce<FailedSignIns>(
        (present, _none, index) => failedAgain(present, index * gapMs),
        failedAgain(undefined, 0),
      );
    fc.assert(
      fc.property(fc.integer({ min: 30_000, max: 600_000 }), fc.nat(200), (gapMs, times) => {
        const failed = after(gapMs, times);
        expect(waitLeftS(failed, failed.at, 5)).toBe(0);
      }),
    );
    expect(waitLeftS(after(1_000, 5), 5_000, 5)).toBeGreaterThan(0);
  });

  it('lets no more than two guesses a minute go on for ever', () => {
    let failed = failedAgain(undefined, 0);
    let now = 0;
    let guesses = 1;
    while (now < 3_600_000) {
      now += Math.max(1, waitLeftS(failed, now, 5) * 1_000);
      failed = failedAgain(failed, now);
      guesses += 1;
    }
    expect(guesses).toBeLessThan(5 + 2 * 60 + 10);
  });
});
