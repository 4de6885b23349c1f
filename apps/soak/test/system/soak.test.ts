import { describe, expect, it } from 'vitest';
import { readOptions } from '../../src/parameters/options.ts';
import { soak } from '../../src/soak.ts';
import { SMALL } from '../../src/parameters/size.ts';

/** A new one each time: every run of the suite tries what none has tried before. */
const newSeed = (): number => Math.floor(Math.random() * 2 ** 31);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** What it takes as a rule is the time of its size and a minute; the rest is for a machine that is short of time. */
const WITHIN_MS = SMALL.minutes * 60_000 + SMALL.quietWithin * 2 + 180_000;

describe('everything is killed, stopped and paused at random while runs are queued', () => {
  it('and every guarantee is kept', { timeout: WITHIN_MS, retry: 0 }, async () => {
    const read = readOptions(['--small'], newSeed);
    if (!read.ok) throw new Error(read.why);
    say(`Seed ${read.options.seed}. The same again: ${read.options.command}`);
    const { kept, report } = await soak(read.options, { env: process.env, say });
    say(report);
    expect(kept, report).toBe(true);
  });
});
