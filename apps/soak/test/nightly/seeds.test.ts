import { describe, expect, it } from 'vitest';
import { SMALL } from '../../src/size.ts';
import { soakOfSeed, withinMsOf } from '../system/soak-of-a-seed.ts';
import { busyProcessors } from './busy-processors.ts';

/** The log forgets with the odd ones of a single broker. Each found something once, or is the first of its kind. */
const SEEDS = [
  { seed: 90_211, brokers: 1 },
  { seed: 7_101, brokers: 1 },
  { seed: 7_102, brokers: 1 },
  { seed: 90_214, brokers: 3 },
  { seed: 7_103, brokers: 3 },
];

describe('a soak beside other work on every processor', () => {
  it.each(SEEDS)(
    'violates no guarantee with seed $seed and $brokers broker(s)',
    { timeout: withinMsOf(SMALL), retry: 0 },
    async ({ seed, brokers }) => {
      await using _ = busyProcessors();
      const { passed, report } = await soakOfSeed(seed, ['--small', '--brokers', String(brokers)]);
      expect(passed, report).toBe(true);
    },
  );
});
