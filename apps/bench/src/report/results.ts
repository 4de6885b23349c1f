import { quantile } from '@runledger/testing/measuring';
import { FIGURES, type Readings } from '../measures/figures.ts';

/** What each figure was over the rounds, in the order of the figures; without those that nothing measured. */
export const spreads = (rounds: readonly Readings[]): ReadonlyMap<string, Spread> =>
  new Map(
    [...FIGURES.keys()].flatMap((name) => {
      const values = rounds.flatMap((readings) => readings[name] ?? []);
      return values.length === 0 ? [] : [[name, spread(values)] as const];
    }),
  );

interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** @throws when there are none */
const spread = (values: readonly number[]): Spread => {
  if (values.length === 0) throw new RangeError('a spread of no values');
  return { median: quantile(values, 0.5), lowest: Math.min(...values), highest: Math.max(...values) };
};
