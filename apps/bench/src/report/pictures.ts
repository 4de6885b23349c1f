import { drawBars } from '@runledger/charts/bar-picture';
import { FIGURES, type Readings } from '../measures/figures.ts';
import { spreads } from './results.ts';

interface Picture {
  readonly title: string;
  readonly unit: string;
  readonly names: readonly string[] | RegExp;
}

const PICTURES: Readonly<Record<string, Picture>> = {
  rates: {
    title: 'How many a second',
    unit: 'a second',
    names: [
      'runs',
      'accept.on',
      'accept.off',
      'get.live',
      'get.ended',
      'floor.log.runs',
      'floor.post',
      'floor.get',
    ],
  },
  times: {
    title: 'How long it takes at 100 runs a second',
    unit: 'ms',
    names: ['started.p50', 'started.p99', 'visible.p50', 'visible.p99'],
  },
  starts: {
    title: 'How long starts take',
    unit: 'ms',
    names: /^(?:ready\.|cli\.\w+$)/,
  },
  'processor-time': {
    title: 'Where the processor time of a completed run goes',
    unit: 'ms',
    names: /^cpu/,
  },
  memory: { title: 'Memory after these runs', unit: 'MiB', names: /^memory/ },
};

const SUBTITLE = 'The median of the rounds; the line goes from the lowest to the highest.';

/** SVG files by their names. */
export const pictures = (rounds: readonly Readings[]): ReadonlyMap<string, string> => {
  const measured = spreads(rounds);
  return new Map(
    Object.entries(PICTURES).map(([file, { title, unit, names }]) => {
      const chosen =
        names instanceof RegExp ? [...measured.keys()].filter((name) => names.test(name)) : names;
      const bars = chosen.flatMap((name) => {
        const values = measured.get(name);
        return values ? [{ name: titleOf(name), ...values }] : [];
      });
      return [`${file}.svg`, drawBars({ title, subtitle: SUBTITLE, unit, bars })];
    }),
  );
};

const titleOf = (name: string): string => (FIGURES.get(name)?.title ?? name).trim().replace(/^of it: /, '');
