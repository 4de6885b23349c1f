import { describe, expect, it } from 'vitest';
import { SMALL } from '../../src/parameters/size.ts';
import { soakOfSeed, withinMsOf } from './soak-of-a-seed.ts';

/** Fixed, so that a failure of this test is a change of the code. `npm run soak` chooses a new seed each time. */
const SEED = 12;

describe('a soak that kills, stops and pauses every part at random', () => {
  it('violates no guarantee', { timeout: withinMsOf(SMALL), retry: 0 }, async () => {
    const { passed, report } = await soakOfSeed(SEED, ['--small']);
    expect(passed, report).toBe(true);
  });
});
