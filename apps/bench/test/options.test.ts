import { describe, expect, it } from 'vitest';
import { readOptions } from '../src/options.ts';

const refusal = (...args: string[]): string => {
  const read = readOptions(args);
  if (read.ok) throw new Error('it was accepted');
  return read.why;
};

describe('the arguments of the bench', () => {
  it('are three rounds of this state without any', () => {
    expect(readOptions([])).toMatchObject({
      ok: true,
      options: { rounds: 3, growth: [], compare: undefined },
    });
  });

  it('name what grows', () => {
    expect(readOptions(['--growth', 'stored,waiting', '--most', '1000'])).toMatchObject({
      ok: true,
      options: { growth: ['stored', 'waiting'], most: 1_000, rounds: 1 },
    });
  });

  it.each([
    [
      ['--growth', 'days'],
      '--growth is of stored, waiting, organisations, slots, executors, and not of days.',
    ],
    [['--rounds', '0'], '--rounds is a whole number from 1 to 100, and not 0.'],
    [['--rounds', '1e1'], '--rounds is a whole number from 1 to 100, and not 1e1.'],
    [['--sync', 'never'], '--sync is always, or a time such as 1s, and not never.'],
    [['--compare', 'HEAD', '--durability'], '--compare, --growth and --durability exclude each other.'],
    [['--fast'], "Unknown option '--fast'"],
  ])('%j is refused with the reason and the usage', (args, why) => {
    expect(refusal(...args)).toContain(why);
    expect(refusal(...args)).toContain('npm run bench');
  });
});
