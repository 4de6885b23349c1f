import { describe, expect, it } from 'vitest';
import { faultSchedule } from '../../src/faults/fault-schedule.ts';
import { plans } from '../../src/clients/plan.ts';
import { chance } from '../../src/parameters/random.ts';
import { FULL, SMALL } from '../../src/parameters/size.ts';

const PARTS = ['broker', 'database', 'gateway-1', 'gateway-2', 'notifier-1', 'scheduler-1', 'scheduler-2'];

describe('a seed', () => {
  it('gives the same blows and the same requests again', () => {
    expect(faultSchedule(chance(7), PARTS, SMALL)).toEqual(faultSchedule(chance(7), PARTS, SMALL));
    expect(plans(chance(7), SMALL)).toEqual(plans(chance(7), SMALL));
  });

  it('gives others than another one', () => {
    expect(faultSchedule(chance(7), PARTS, SMALL)).not.toEqual(faultSchedule(chance(8), PARTS, SMALL));
    expect(plans(chance(7), SMALL)).not.toEqual(plans(chance(8), SMALL));
  });
});

describe('the blows of a soak', () => {
  const blows = faultSchedule(chance(7), PARTS, { ...FULL, minutes: 200 });

  it('are of every kind, against every part, and against several at once', () => {
    expect(new Set(blows.map(({ kind }) => kind))).toEqual(new Set(['kill', 'stop', 'pause']));
    expect(new Set(blows.flatMap(({ parts }) => parts))).toEqual(new Set(PARTS));
    expect(Math.max(...blows.map(({ parts }) => parts.length))).toBe(PARTS.length);
  });

  it('come one after the other, within its time', () => {
    const times = blows.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(Math.max(...times)).toBeLessThan(200 * 60_000);
  });

  it('strike nothing that is down', () => {
    for (const part of PARTS) {
      const own = blows.filter(({ parts }) => parts.includes(part));
      for (const [at, blow] of own.entries())
        expect(own[at + 1]?.at ?? Infinity).toBeGreaterThan(blow.at + blow.forMs);
    }
  });

  it('keep within the limits of the size', () => {
    for (const { kind, forMs } of blows)
      expect(forMs).toBeLessThanOrEqual(kind === 'pause' ? FULL.pause[1] : FULL.away[1]);
  });
});

describe('the requests of a soak', () => {
  const asked = plans(chance(7), { minutes: 10, rate: 5 });

  it('are as many as the rate says, each with a number of its own', () => {
    expect(asked.map(({ request }) => request)).toEqual(Array.from({ length: 3_000 }, (_, at) => at + 1));
  });

  it('are of every kind', () => {
    expect(new Set(asked.map(({ deployment }) => deployment)).size).toBe(4);
    expect(new Set(asked.map(({ work }) => work.what)).size).toBe(3);
    expect(new Set(asked.map(({ watch, webhook }) => `${watch} ${webhook}`)).size).toBe(9);
    expect(asked.some(({ cancelAfter }) => cancelAfter === 0)).toBe(true);
    expect(asked.some(({ rerun, key }) => rerun && key === null)).toBe(true);
    expect(asked.some(({ impatientAfter }) => impatientAfter !== null)).toBe(true);
  });
});
