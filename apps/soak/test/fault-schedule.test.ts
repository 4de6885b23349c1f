import { describe, expect, it } from 'vitest';
import { faultSchedule } from '../src/faults/fault-schedule.ts';
import { planRuns } from '../src/clients/plan.ts';
import { randomFrom } from '@runledger/testing/random-source';
import { FULL, SMALL } from '../src/size.ts';

const PARTS = ['broker', 'database', 'gateway-1', 'gateway-2', 'notifier-1', 'scheduler-1', 'scheduler-2'];

describe('a seed', () => {
  it('repeats the same faults and requests', () => {
    expect(faultSchedule(randomFrom(7), PARTS, SMALL)).toEqual(faultSchedule(randomFrom(7), PARTS, SMALL));
    expect(planRuns(randomFrom(7), SMALL)).toEqual(planRuns(randomFrom(7), SMALL));
  });

  it('gives other faults and requests than another seed', () => {
    expect(faultSchedule(randomFrom(7), PARTS, SMALL)).not.toEqual(
      faultSchedule(randomFrom(8), PARTS, SMALL),
    );
    expect(planRuns(randomFrom(7), SMALL)).not.toEqual(planRuns(randomFrom(8), SMALL));
  });
});

describe('the faults of a soak', () => {
  const faults = faultSchedule(randomFrom(7), PARTS, { ...FULL, minutes: 200 });

  it('are of every kind, and hit every part, alone and together', () => {
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(
      new Set(['kill', 'stop', 'pause', 'empty', 'restore']),
    );
    expect(new Set(faults.flatMap(({ parts }) => parts))).toEqual(new Set(PARTS));
    expect(Math.max(...faults.map(({ parts }) => parts.length))).toBe(PARTS.length);
  });

  it('are in order, within the time of the soak', () => {
    const times = faults.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(Math.max(...times)).toBeLessThan(200 * 60_000);
  });

  it('take the data of the database only', () => {
    const taken = faults.filter(({ kind }) => kind === 'empty' || kind === 'restore');
    expect(new Set(taken.flatMap(({ parts }) => parts))).toEqual(new Set(['database']));
  });

  it('hit no part that is down', () => {
    for (const part of PARTS) {
      const own = faults.filter(({ parts }) => parts.includes(part));
      for (const [at, fault] of own.entries())
        expect(own[at + 1]?.at ?? Infinity).toBeGreaterThan(fault.at + fault.forMs);
    }
  });

  it('respect the limits of the size', () => {
    for (const { kind, forMs } of faults)
      expect(forMs).toBeLessThanOrEqual(kind === 'pause' ? FULL.pauseMs[1] : FULL.downMs[1]);
  });
});

describe('the requests of a soak', () => {
  const plans = planRuns(randomFrom(7), { minutes: 10, rate: 5, shortLogAgeMs: 60_000, giveUpS: 300 });

  it('match the rate, and each has its own number', () => {
    expect(plans.map(({ request }) => request)).toEqual(Array.from({ length: 3_000 }, (_, at) => at + 1));
  });

  it('are of every kind', () => {
    expect(new Set(plans.map(({ deployment }) => deployment)).size).toBe(4);
    expect(new Set(plans.map(({ work }) => work.what)).size).toBe(5);
    expect(new Set(plans.map(({ deletes }) => deletes)).size).toBe(3);
    expect(new Set(plans.map(({ follow, webhook }) => `${follow} ${webhook}`)).size).toBe(12);
    expect(plans.some(({ hasLargeInputs }) => hasLargeInputs)).toBe(true);
    expect(plans.some(({ hasInputFile }) => hasInputFile)).toBe(true);
    expect(plans.some(({ work }) => work.lines !== undefined)).toBe(true);
    expect(plans.some(({ cancelAfterMs }) => cancelAfterMs === 0)).toBe(true);
    expect(plans.some(({ rerun, key }) => rerun && key === null)).toBe(true);
    expect(plans.some(({ abortFirstAfterMs }) => abortFirstAfterMs !== null)).toBe(true);
  });
});
