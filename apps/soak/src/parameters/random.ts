import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Chance from a seed: the same seed asked the same questions gives the same answers. */
export interface Chance {
  /** Both ends included. */
  readonly integer: (from: number, to: number) => number;
  readonly happens: (outOf100: number) => boolean;
  readonly pick: <Item>(items: readonly [Item, ...Item[]]) => Item;
  /** So many of them, none twice, in their order; all of them when there are no more. */
  readonly some: <Item>(items: readonly Item[], count: number) => Item[];
}

export const chance = (seed: number): Chance => {
  const generator = xoroshiro128plus(seed);
  const integer = (from: number, to: number): number => uniformInt(generator, from, to);
  return {
    integer,
    happens: (outOf100) => integer(1, 100) <= outOf100,
    pick: ([first, ...others]) => {
      const at = integer(0, others.length);
      return at === 0 ? first : (others[at - 1] ?? first);
    },
    some: (items, count) => {
      const left = items.map((_, at) => at);
      const taken = new Set<number>();
      for (let n = 0; n < Math.min(count, items.length); n += 1) {
        const [at = 0] = left.splice(integer(0, left.length - 1), 1);
        taken.add(at);
      }
      return items.filter((_, at) => taken.has(at));
    },
  };
};
