import { describe, expect, it } from 'vitest';
import { readOptions } from '../../src/parameters/options.ts';
import { soak } from '../../src/soak.ts';
import { SMALL } from '../../src/parameters/size.ts';

/** Fixed, so that a failure of this test is a change of the code. `npm run soak` chooses a new seed each time. */
const SEED = 12;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** The soak usually takes its minutes and one more. The rest is for a busy machine. */
const WITHIN_MS = SMALL.minutes * 60_000 + SMALL.settleWithinMs * 2 + 180_000;

describe('a soak that kills, stops and pauses every part at random', () => {
  it('violates no guarantee', { timeout: WITHIN_MS, retry: 0 }, async () => {
    const read = readOptions(['--small'], () => SEED);
    if (!read.ok) throw new Error(read.why);
    print(`Seed ${read.options.seed}. Repeat it with: ${read.options.command}`);
    const interrupted = new AbortController().signal;
    const { passed, report } = await soak(read.options, { env: process.env, print, interrupted });
    print(report);
    expect(passed, report).toBe(true);
  });
});
