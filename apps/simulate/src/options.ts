import { parseArgs } from 'node:util';

export interface Options {
  readonly seed: number;
  /** More than one: a small random plan for each. */
  readonly seeds: number;
  /** A file with a plan. */
  readonly plan: string | undefined;
  /** Undefined for small random plans. */
  readonly day:
    | {
        readonly runs: number;
        readonly gpus: number;
        readonly organisations: number;
        readonly faults: number;
      }
    | undefined;
  /** Print what happens. */
  readonly story: boolean;
}

export type ReadOptions =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly why: string };

const USAGE = `npm run simulate -- [--seed N] [--seeds N | --plan FILE | --runs N [--gpus N] [--organisations N] [--faults N]] [--story]
  --seed           a whole number: the same seed gives the same simulation, step by step (1)
  --seeds          so many small plans with random faults, from this seed on (1)
  --plan           the plan in a file of JSON
  --runs           a day with so many runs, of installations with
  --gpus           so many GPUs (1000)
  --organisations  and organisations (200)
  --faults         in which so many processes fail (100)
  --story          print every fact and fault`;

/** Reads the arguments of the command. */
export const readOptions = (args: readonly string[]): ReadOptions => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string', default: '1' },
        seeds: { type: 'string', default: '1' },
        plan: { type: 'string' },
        runs: { type: 'string' },
        gpus: { type: 'string', default: '1000' },
        organisations: { type: 'string', default: '200' },
        faults: { type: 'string', default: '100' },
        story: { type: 'boolean', default: false },
      },
    });
    const { plan, runs, story } = values;
    const day = runs === undefined ? undefined : dayOf({ ...values, runs });
    const options = {
      seed: numberOf('--seed', values.seed, 0, 2 ** 31 - 1),
      seeds: numberOf('--seeds', values.seeds, 1, 100_000_000),
      plan,
      day,
      story,
    };
    const ways = [options.seeds > 1, plan !== undefined, day !== undefined].filter(Boolean).length;
    if (ways > 1) throw new RangeError('--seeds, --plan and --runs exclude each other.');
    return { ok: true, options };
  } catch (error) {
    return { ok: false, why: `${error instanceof Error ? error.message : String(error)}\n${USAGE}` };
  }
};

const dayOf = (values: {
  readonly runs: string;
  readonly gpus: string;
  readonly organisations: string;
  readonly faults: string;
}): NonNullable<Options['day']> => ({
  runs: numberOf('--runs', values.runs, 1, 100_000_000),
  gpus: numberOf('--gpus', values.gpus, 1, 100_000),
  organisations: numberOf('--organisations', values.organisations, 1, 100_000),
  faults: numberOf('--faults', values.faults, 0, 1_000_000),
});

const numberOf = (name: string, text: string, from: number, to: number): number => {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= from && value <= to) return value;
  throw new RangeError(`${name} is ${text}. It must be a whole number from ${from} to ${to}.`);
};
