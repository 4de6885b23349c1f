import { expect, it } from 'vitest';
import { readOptions } from '../src/options.ts';

it('one small plan is simulated by default', () => {
  expect(readOptions([])).toMatchObject({ ok: true, options: { seed: 1, seeds: 1, day: undefined } });
});

it('a day has numbers of its own', () => {
  const day = { runs: 1_000, gpus: 10, organisations: 200, faults: 100 };
  expect(readOptions(['--runs', '1000', '--gpus', '10'])).toMatchObject({ ok: true, options: { day } });
});

it.each([
  [['--seed', 'x'], '--seed is x'],
  [['--gpus', '0', '--runs', '1'], '--gpus is 0'],
  [['--seeds', '2', '--runs', '1'], 'exclude each other'],
  [['--what'], '--what'],
])('%s is refused', (args, why) => {
  const read = readOptions(args);
  expect(read.ok ? '' : read.why).toContain(why);
});
