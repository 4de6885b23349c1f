import { FIGURES, type Readings } from '../measures/figures.ts';
import { spread, type Spread } from '../statistics/spread.ts';

/** What each figure was over the rounds, in the order of the figures; without those that nothing measured. */
export const spreads = (rounds: readonly Readings[]): ReadonlyMap<string, Spread> =>
  new Map(
    [...FIGURES.keys()].flatMap((name) => {
      const values = rounds.flatMap((readings) => readings[name] ?? []);
      return values.length === 0 ? [] : [[name, spread(values)] as const];
    }),
  );
