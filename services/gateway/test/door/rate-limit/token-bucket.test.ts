import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { msUntil, refilled, take, WINDOW_MS, type Tokens } from '../../../src/door/rate-limit.decide.ts';

const limits = fc.integer({ min: 1, max: 1_000_000 });

/** What was granted, and when in truth. */
interface Grant {
  readonly at: number;
  readonly granted: number;
}

/** The most by which the grants of any stretch exceed a full bucket and what flowed in meanwhile. */
const excess = (grants: readonly Grant[], limit: number, slackMs: number): number => {
  let worst = Number.NEGATIVE_INFINITY;
  for (const [first, from] of grants.entries()) {
    let sum = 0;
    for (const { at, granted } of grants.slice(first)) {
      sum += granted;
      const most = limit + ((at - from.at + slackMs) * limit) / WINDOW_MS;
      worst = Math.max(worst, sum - most);
    }
  }
  return worst;
};

const simulate = (
  limit: number,
  asked: readonly { readonly after: number; readonly wanted: number; readonly clockOff: number }[],
): Grant[] => {
  let bucket: Tokens | undefined;
  let at = 1_000_000_000;
  return asked.map(({ after, wanted, clockOff }) => {
    at += after;
    const { granted, left } = take(bucket, at + clockOff, limit, wanted);
    bucket = left;
    return { at, granted };
  });
};

const asked = (clockOff: fc.Arbitrary<number>) =>
  fc.array(
    fc.record({
      after: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 90_000 })),
      wanted: fc.integer({ min: 1, max: 100_000 }),
      clockOff,
    }),
    { minLength: 1, maxLength: 60 },
  );

describe('a token bucket', () => {
  it('never gives more than it holds and the refilled tokens', () => {
    fc.assert(
      fc.property(limits, asked(fc.constant(0)), (limit, requests) => {
        expect(excess(simulate(limit, requests), limit, 0)).toBeLessThan(1e-3);
      }),
    );
  });

  it('gives at most seconds too much to gateways whose clocks differ by seconds', () => {
    fc.assert(
      fc.property(limits, asked(fc.integer({ min: -3_000, max: 3_000 })), (limit, requests) => {
        expect(excess(simulate(limit, requests), limit, 6_000)).toBeLessThan(1e-3);
      }),
    );
  });

  it('holds between nothing and the limit, for any clock', () => {
    fc.assert(
      fc.property(limits, asked(fc.integer({ min: -1e12, max: 1e12 })), (limit, requests) => {
        let bucket: Tokens | undefined;
        for (const { wanted, clockOff } of requests) {
          const taken = take(bucket, 1e12 + clockOff, limit, wanted);
          expect(taken.granted).toBeGreaterThanOrEqual(0);
          expect(taken.granted).toBeLessThanOrEqual(Math.min(wanted, limit));
          expect(taken.left.tokens).toBeGreaterThanOrEqual(0);
          expect(taken.left.tokens).toBeLessThanOrEqual(limit);
          bucket = taken.left;
        }
      }),
    );
  });

  it('is full again a minute after it was empty', () => {
    const { granted, left } = take(undefined, 0, 600, 1_000);
    expect([granted, left]).toEqual([600, { tokens: 0, at: 0 }]);
    expect(take(left, 99, 600, 1)).toEqual({ granted: 0, left: { tokens: 0.99, at: 99 } });
    expect(take(left, 100, 600, 5).granted).toBe(1);
    expect(refilled(left, 30_000, 600)).toEqual({ tokens: 300, at: 30_000 });
    expect(refilled(left, 90_000, 600)).toEqual({ tokens: 600, at: 90_000 });
    expect(msUntil(1, left, 600)).toBe(100);
    expect(msUntil(600, left, 600)).toBe(60_000);
    expect(msUntil(1, { tokens: 3, at: 0 }, 600)).toBe(0);
  });

  it('counts no time twice when the clock goes back', () => {
    const { left } = take({ tokens: 0, at: 50_000 }, 51_000, 600, 10);
    expect(left).toEqual({ tokens: 0, at: 51_000 });
    const back = refilled(left, 49_000, 600);
    expect(back).toEqual(left);
    expect(refilled(back, 51_000, 600).tokens).toBe(0);
  });

  it('continues when the clock was set back permanently', () => {
    const hourBehind = refilled({ tokens: 5, at: 3_600_000 }, 0, 600);
    expect(hourBehind).toEqual({ tokens: 5, at: 0 });
    expect(refilled(hourBehind, 1_000, 600).tokens).toBe(15);
  });
});
