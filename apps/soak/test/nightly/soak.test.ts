import { describe, expect, it } from 'vitest';
import { planRuns } from '../../src/clients/plan.ts';
import { faultSchedule } from '../../src/faults/fault-schedule.ts';
import { STORES, limitSchedule } from '../../src/faults/limit-changes.ts';
import { randomFrom } from '@runledger/testing/random-source';
import { SMALL } from '../../src/size.ts';
import { soakOfSeed, withinMsOf } from '../system/soak-of-a-seed.ts';

/** Fixed, so that a failure of this test is a change of the code. `npm run soak` chooses a new seed each time. */
const SEED = 311_026;
const SIZE = { ...SMALL, minutes: 2 };

const PARTS = [
  'broker-1',
  'database',
  ...['gateway', 'notifier', 'scheduler'].flatMap((service) => [`${service}-1`, `${service}-2`]),
  ...[1, 2, 3].map((n) => `gpu-executor-${n}`),
].toSorted();
const roleOf = (part: string): string => part.replace(/-\d$/, '');

// Other seeds need twice the time for all of this.
describe('the seed of the soak', () => {
  it('kills, stops and pauses each part, and all at once, and takes the data of the database', () => {
    const faults = faultSchedule(randomFrom(SEED + 1), PARTS, SIZE);
    const hits = faults.flatMap(({ kind, parts }) => parts.map((part) => `${kind} ${roleOf(part)}`));
    const everyPart = ['kill', 'stop', 'pause'].flatMap((kind) =>
      PARTS.map((part) => `${kind} ${roleOf(part)}`),
    );
    expect(new Set(hits)).toEqual(new Set([...everyPart, 'empty database', 'restore database']));
    expect(Math.max(...faults.map(({ parts }) => parts.length))).toBe(PARTS.length);
  });

  it('fills every store, and leaves the log with room for accepted runs once', () => {
    const changes = limitSchedule(randomFrom(SEED + 4), SIZE, false);
    const kinds = changes.map(({ store, kind }) => `${store} ${kind}`);
    expect(new Set(kinds)).toEqual(new Set([...STORES.map((store) => `${store} full`), 'RUNS nearly_full']));
  });

  it('has clients of every kind', () => {
    const plans = planRuns(randomFrom(SEED), SIZE);
    expect(new Set(plans.map(({ work }) => work.what)).size).toBe(5);
    expect(new Set(plans.map(({ follow, webhook }) => `${follow} ${webhook}`)).size).toBe(12);
    expect(new Set(plans.map(({ deletes }) => deletes)).size).toBe(3);
  });
});

describe('a soak that kills, stops and pauses every part at random', () => {
  it('violates no guarantee', { timeout: withinMsOf(SMALL), retry: 0 }, async () => {
    const { passed, report } = await soakOfSeed(SEED, ['--small', '--minutes', String(SIZE.minutes)]);
    expect(passed, report).toBe(true);
  });
});
