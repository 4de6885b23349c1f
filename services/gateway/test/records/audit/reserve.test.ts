import { RESERVE_AGE_MS } from '@runledger/contracts/audit-actions';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reserveOf } from '../../../src/records/audit/audit.ts';

const MINUTE_MS = 60_000;
const STEPS = (5 * RESERVE_AGE_MS) / (10 * MINUTE_MS);

/** A ring, and the times of what was stored in it. Its clock only goes on. */
const aRing = (most: number) => {
  const times: number[] = [];
  let old = 0;
  const waitMs = (now: number): number => {
    while ((times[old] ?? now) <= now - RESERVE_AGE_MS) old += 1;
    const newest = times.at(-1);
    const recent = times.length - old;
    const use = { most, recent, newest: newest === undefined ? undefined : new Date(newest), underway: 0 };
    return reserveOf(use, new Date(now)).waitMs;
  };
  return { times, waitMs };
};

/** The least time for which a record was kept that has left. */
const leastKeptMs = (most: number, bursts: readonly number[]): number => {
  let least = Infinity;
  const { times, waitMs } = aRing(most);
  for (let step = 0; step < STEPS; step += 1) {
    const now = step * 10 * MINUTE_MS;
    for (let left = bursts[step % bursts.length] ?? 0; left > 0; left -= 1) {
      if (waitMs(now) > 0) continue;
      const leaves = times.at(-most);
      if (leaves !== undefined) least = Math.min(least, now - leaves);
      times.push(now);
    }
  }
  return least;
};

describe('a reserve', () => {
  it('keeps each record for a week, however many actions come and whenever', () => {
    const bursts = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 50, maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 200 }), bursts, (most, each) => {
        expect(leastKeptMs(most, each)).toBeGreaterThanOrEqual(RESERVE_AGE_MS);
      }),
      { numRuns: casesOf(4) },
    );
  });

  it('lets the next one begin within a week divided by a quarter of the ring, after any flood', () => {
    const most = 1_365;
    const { times, waitMs } = aRing(most);
    let longest = 0;
    for (let now = 0; now < 3 * RESERVE_AGE_MS; now += MINUTE_MS) {
      for (;;) {
        const wait = waitMs(now);
        longest = Math.max(longest, wait);
        if (wait > 0) break;
        times.push(now);
      }
    }
    expect(longest).toBeLessThanOrEqual(Math.ceil(RESERVE_AGE_MS / Math.floor(most / 4)));
    expect(longest).toBeLessThan(31 * MINUTE_MS);
  });

  it('counts what is under way, and afterwards lets one begin at a time', () => {
    const now = new Date();
    const use = { most: 128, recent: 60, newest: new Date(0) };
    expect(reserveOf({ ...use, underway: 3 }, now).waitMs).toBe(0);
    expect(reserveOf({ ...use, underway: 4 }, now)).toEqual({ used: 1, waitMs: 1_000 });
    expect(reserveOf({ ...use, recent: 0, newest: undefined, underway: 64 }, now).waitMs).toBe(1_000);
    expect(reserveOf({ ...use, recent: 96, underway: 0 }, now)).toEqual({ used: 1.5, waitMs: 0 });
  });
});
