import { uniformFloat32 } from 'pure-rand/distribution/uniformFloat32';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Random numbers from a seed. The same seed and the same calls give the same numbers. */
export interface RandomSource {
  /** Includes both ends. */
  readonly integer: (from: number, to: number) => number;
  /** From 0, without 1. */
  readonly fraction: () => number;
  readonly chance: (outOf100: number) => boolean;
  /** @throws when there are none */
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** All of them, in another order. */
  readonly shuffled: <Item>(items: readonly Item[]) => Item[];
  /** `count` different items in their order; all of them if there are fewer. */
  readonly sample: <Item>(items: readonly Item[], count: number) => Item[];
}

export const randomFrom = (seed: number): RandomSource => {
  const generator = xoroshiro128plus(seed);
  const integer = (from: number, to: number): number => uniformInt(generator, from, to);
  return {
    integer,
    fraction: () => uniformFloat32(generator),
    chance: (outOf100) => integer(1, 100) <= outOf100,
    pick: (items) => {
      const item = items[integer(0, items.length - 1)];
      if (item === undefined) throw new RangeError('there is nothing to pick from');
      return item;
    },
    shuffled: (items) => {
      const left = [...items];
      return items.flatMap(() => left.splice(integer(0, left.length - 1), 1));
    },
    sample: (items, count) => {
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
