import { threeDigits } from '@runledger/charts/three-digits';
import type { GrowthPicture } from '@runledger/charts/growth-picture';
import { FIGURES, type Readings } from '../measures/figures.ts';
import { spreads } from '../report/results.ts';
import { rows } from '../report/table.ts';

/** What the table of a growth shows of each size. */
const SHOWN = [
  'accept.off',
  'runs',
  'started.p50',
  'started.p99',
  'visible.p50',
  'get.ended',
  'cpu',
  'cpu.gpu-executor',
  'cpu.nats-server',
  'memory',
];
/** What the picture shows. */
const DRAWN = ['accept.off', 'runs', 'started.p99', 'cpu'];

/** A row for each figure, a column for each size: medians. Markdown. */
export const growthTable = (
  title: string,
  sizes: readonly number[],
  measured: readonly (readonly Readings[])[],
): string => {
  const bySize = measured.map((rounds) => spreads(rounds));
  const cell = (name: string, at: number): string => {
    const values = bySize[at]?.get(name);
    return values === undefined ? '' : threeDigits(values.median);
  };
  return rows(
    [title, ...sizes.map((size) => size.toLocaleString('en-GB'))],
    SHOWN.map((name) => [titleOf(name), ...sizes.map((_, at) => cell(name, at))]),
  );
};

export const panelsOf = (measured: readonly (readonly Readings[])[]): GrowthPicture['panels'] =>
  DRAWN.map((name) => ({
    title: titleOf(name),
    points: measured.flatMap((rounds) => {
      const values = spreads(rounds).get(name);
      return values ? [[values.lowest, values.median, values.highest] as const] : [];
    }),
  }));

const titleOf = (name: string): string => {
  const figure = FIGURES.get(name);
  if (figure === undefined) return name;
  return `${figure.title.trim()}${figure.unit === '' ? '' : ` (${figure.unit})`}`;
};
