import type { Figure, Readings } from '../measures/figures.ts';
import { spreads } from './results.ts';
import { figureOf, rows, threeDigits } from './table.ts';

/** What changes with what is stored, or with a setting. */
const SHOWN = [
  'start',
  'accept.off',
  'accept.off.p50',
  'accept.off.p99',
  'runs',
  'started.p50',
  'started.p99',
  'visible.p50',
  'visible.p99',
  'get.ended',
  'disk',
  'cpu',
  'cpu.gpu-executor',
  'cpu.nats-server',
  'memory',
];

/** A row for each figure, a column for each of several states: medians. Markdown. */
export const columns = (
  title: string,
  heads: readonly string[],
  measured: readonly (readonly Readings[])[],
): string => {
  const states = measured.map((rounds) => spreads(rounds));
  const cell = (name: string, at: number): string => {
    const values = states[at]?.get(name);
    return values === undefined ? '' : threeDigits(values.median);
  };
  return rows(
    [title, ...heads],
    SHOWN.map((name) => [titleOf(figureOf(name)), ...heads.map((_, at) => cell(name, at))]),
  );
};

const titleOf = ({ title, unit }: Figure): string => `${title.trim()}${unit === '' ? '' : ` (${unit})`}`;
