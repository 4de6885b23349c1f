import { describe, expect, it } from 'vitest';
import { BRIEF } from '../../src/size.ts';
import { soakOfSeed, withinMsOf } from '../system/soak-of-a-seed.ts';

/** Fixed, so that a failure of this test is a change of the code. `npm run soak` chooses a new seed each time. */
const SEED = 5;

describe('a brief soak of three brokers, of which a leader is killed and a follower is paused', () => {
  it('violates no guarantee', { timeout: withinMsOf(BRIEF), retry: 0 }, async () => {
    const { passed, report } = await soakOfSeed(SEED, ['--brief', '--brokers', '3']);
    expect(passed, report).toBe(true);
  });
});
