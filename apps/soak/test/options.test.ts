import { describe, expect, it } from 'vitest';
import { readOptions } from '../src/options.ts';
import { BRIEF, FULL, SMALL } from '../src/size.ts';

const newSeed = (): number => 42;

describe('sizes', () => {
  it.for([BRIEF, FULL, SMALL])('leave a delivery the time to be given up after the last run', (size) => {
    // And half of it to be found.
    expect(size.settleWithinMs).toBeGreaterThan(size.giveUpS * 1_500);
  });
});

describe('options', () => {
  it('have a new seed, and the command that repeats it', () => {
    expect(readOptions([], newSeed)).toEqual({
      ok: true,
      options: {
        seed: 42,
        size: FULL,
        keep: false,
        command: `npm run soak -- --seed 42 --minutes ${FULL.minutes} --rate ${FULL.rate}`,
      },
    });
  });

  it('are read from the arguments', () => {
    const given = ['--small', '--seed', '7', '--minutes', '0.5', '--rate', '3', '--keep'];
    expect(readOptions(given, newSeed)).toEqual({
      ok: true,
      options: {
        seed: 7,
        size: { ...SMALL, minutes: 0.5, rate: 3 },
        keep: true,
        command: 'npm run soak -- --seed 7 --minutes 0.5 --rate 3 --small',
      },
    });
  });

  it('choose a cluster of brokers', () => {
    expect(readOptions(['--small', '--brokers', '3', '--seed', '7'], newSeed)).toMatchObject({
      options: {
        size: { ...SMALL, brokers: 3 },
        command: expect.stringMatching(/ --brokers 3 --small$/) as unknown,
      },
    });
  });

  it('choose a brief soak', () => {
    expect(readOptions(['--brief', '--brokers', '3', '--seed', '7'], newSeed)).toMatchObject({
      options: {
        size: { ...BRIEF, brokers: 3 },
        command: expect.stringMatching(/ --brokers 3 --brief$/) as unknown,
      },
    });
  });

  it.for([
    [['--small', '--brief'], '--small and --brief exclude each other.'],
    [['--brokers', '2'], '--brokers is 2. It must be 1 or 3'],
    [['--seed', 'x'], '--seed is x. It must be a whole number from 0 to 2147483647.'],
    [['--seed', '1.5'], '--seed is 1.5'],
    [['--minutes', '0'], '--minutes is 0. It must be a number from 0.1 to 10000.'],
    [['--rate', ''], '--rate is '],
    [['--fast'], "Unknown option '--fast'"],
  ] as const)('are refused with the valid values: %j', ([given, sentence]) => {
    const read = readOptions(given, newSeed);
    expect(read).toMatchObject({ ok: false, why: expect.stringContaining(sentence) as unknown });
    expect(read).toMatchObject({
      why: expect.stringContaining('npm run soak -- [--small | --brief]') as unknown,
    });
  });
});
