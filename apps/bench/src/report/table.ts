import { quantile } from '@runledger/testing/measuring';
import { FIGURES, type Figure, type Readings } from '../measures/figures.ts';
import { spreads } from './results.ts';

/** With separators, and no more digits than a measurement knows. */
export const threeDigits = (value: number): string =>
  Number(value.toPrecision(3)).toLocaleString('en-GB', { maximumSignificantDigits: 3 });

const withUnit = (value: string, { unit }: Figure): string =>
  unit === '' ? value : unit === '/s' ? `${value}/s` : `${value} ${unit}`;

/** A table in Markdown whose columns are aligned. */
export const rows = (head: readonly string[], lines: readonly (readonly string[])[]): string => {
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const row = (line: readonly string[]): string =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [row(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...lines.map(row)].join(
    '\n',
  );
};

/** A row for each figure: the median of the rounds, the lowest and the highest. Markdown. */
export const table = (rounds: readonly Readings[]): string =>
  rows(
    ['', 'median', 'lowest to highest'],
    [...spreads(rounds)].map(([name, { median, lowest, highest }]) => {
      const figure = figureOf(name);
      return [
        figure.title,
        withUnit(threeDigits(median), figure),
        `${threeDigits(lowest)} to ${threeDigits(highest)}`,
      ];
    }),
  );

/** Two states side by side, round by round: the ratio is the median of those of rounds that followed each other. Markdown. */
export const comparison = (before: readonly Readings[], after: readonly Readings[]): string => {
  const [old, now] = [spreads(before), spreads(after)];
  const lines = [...now].flatMap(([name, { median }]) => {
    const was = old.get(name);
    if (was === undefined) return [];
    const ratios = after.flatMap((readings, round) => {
      const [own, other] = [readings[name], before[round]?.[name]];
      return own === undefined || other === undefined || other === 0 ? [] : [own / other];
    });
    if (ratios.length === 0) return [];
    const range = `${threeDigits(Math.min(...ratios))} to ${threeDigits(Math.max(...ratios))}`;
    const figure = figureOf(name);
    const ratio = quantile(ratios, 0.5);
    return [
      [
        figure.title,
        withUnit(threeDigits(was.median), figure),
        withUnit(threeDigits(median), figure),
        `${threeDigits(ratio)} (${range})`,
        verdict(figure, ratios),
      ],
    ];
  });
  return rows(['', 'before', 'after', 'after by before', ''], lines);
};

/** Fewer rounds agree by chance. */
const ROUNDS_OF_A_VERDICT = 4;
/** A smaller change is not worth a word. */
const WORTH_A_WORD = 0.05;

/** Only when enough rounds all say so. */
const verdict = ({ better }: Figure, ratios: readonly number[]): string => {
  const isMore = ratios.every((ratio) => ratio > 1);
  const isLess = ratios.every((ratio) => ratio < 1);
  const change = Math.abs(quantile(ratios, 0.5) - 1);
  if (ratios.length < ROUNDS_OF_A_VERDICT || change < WORTH_A_WORD || (!isMore && !isLess)) return '';
  return isMore === (better === 'more') ? 'better' : 'worse';
};

export const figureOf = (name: string): Figure => {
  const figure = FIGURES.get(name);
  if (figure === undefined) throw new RangeError(`there is no figure ${name}`);
  return figure;
};
