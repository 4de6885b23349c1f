import { parseArgs } from 'node:util';
import { messageOf } from '@runledger/resilience/errors';
import { BRIEF, FULL, SMALL, type Size } from './size.ts';

export interface Options {
  readonly seed: number;
  readonly size: Size;
  /** Keep the folders even if no guarantee was violated. */
  readonly keep: boolean;
  /** The command that repeats this soak. */
  readonly command: string;
}

export type ReadOptions =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly why: string };

const USAGE = `npm run soak -- [--small | --brief] [--brokers N] [--seed N] [--minutes N] [--rate N] [--keep]
  --small     rates and faults for a machine with two cores, ${SMALL.minutes} minutes
  --brief     half a minute, few clients and faults, and no full stores, for --brokers 3
  --brokers   1, or 3 that form a cluster, with faults of their own (${FULL.brokers})
  --seed      a whole number that repeats the same requests and faults; a new one by default
  --minutes   how long runs are queued and faults are injected (${FULL.minutes}); the remaining runs end after that
  --rate      runs a second (${FULL.rate}; small: ${SMALL.rate})
  --keep      keep the folder with the broker's store and the log files`;

const LARGEST_SEED = 2 ** 31 - 1;

/** Calls `newSeed` if the arguments name no seed. */
export const readOptions = (args: readonly string[], newSeed: () => number): ReadOptions => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string' },
        minutes: { type: 'string' },
        rate: { type: 'string' },
        brokers: { type: 'string' },
        small: { type: 'boolean', default: false },
        brief: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
      },
    });
    if (values.small && values.brief) throw new RangeError('--small and --brief exclude each other.');
    const preset = values.brief ? BRIEF : values.small ? SMALL : FULL;
    const seed = numberOf('--seed', values.seed, { from: 0, to: LARGEST_SEED, whole: true }) ?? newSeed();
    const minutes = numberOf('--minutes', values.minutes, { from: 0.1, to: 10_000 }) ?? preset.minutes;
    const rate = numberOf('--rate', values.rate, { from: 0.1, to: 1_000 }) ?? preset.rate;
    const brokers = brokersIn(values.brokers) ?? preset.brokers;
    const more = `${brokers === FULL.brokers ? '' : ` --brokers ${brokers}`}${values.brief ? ' --brief' : values.small ? ' --small' : ''}`;
    const command = `npm run soak -- --seed ${seed} --minutes ${minutes} --rate ${rate}${more}`;
    const size = { ...preset, minutes, rate, brokers };
    return { ok: true, options: { seed, size, keep: values.keep, command } };
  } catch (error) {
    return { ok: false, why: `${messageOf(error)}\n${USAGE}` };
  }
};

const brokersIn = (text: string | undefined): number | undefined => {
  if (text === undefined || text === '1' || text === '3')
    return text === undefined ? undefined : Number(text);
  throw new RangeError(`--brokers is ${text}. It must be 1 or 3: a cluster of two stops when one is away.`);
};

const numberOf = (
  name: string,
  text: string | undefined,
  { from, to, whole = false }: { readonly from: number; readonly to: number; readonly whole?: boolean },
): number | undefined => {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && value >= from && value <= to && (!whole || Number.isInteger(value))) return value;
  throw new RangeError(
    `${name} is ${text}. It must be ${whole ? 'a whole number' : 'a number'} from ${from} to ${to}.`,
  );
};
