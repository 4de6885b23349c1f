import { parseArgs } from 'node:util';
import type { SyncInterval } from '@runledger/local-servers/nats-server';
import { messageOf } from '@runledger/resilience/errors';
import { DIMENSIONS, DURABILITY } from './measures/growth.ts';

export interface Options {
  readonly rounds: number;
  readonly slots: number;
  /** When the broker flushes: `always`, or an interval. */
  readonly sync: SyncInterval;
  /** The folder for results. */
  readonly out: string;
  /** A commit to measure beside this state. */
  readonly compare: string | undefined;
  /** What grows, or differs. */
  readonly growth: readonly string[];
  /** The largest size of it. */
  readonly most: number;
  /** Run for seconds only, to see that it works: the figures mean nothing. */
  readonly quick: boolean;
}

export type ReadOptions =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly why: string };

const NAMES = Object.keys(DIMENSIONS).filter((name) => name !== DURABILITY);

export const USAGE = `npm run bench -- [--rounds N] [--slots N] [--sync always|1s] [--out FOLDER] [--compare COMMIT | --growth NAME,… [--most N] | --durability] [--quick]
  --rounds   how often everything is measured, each time on a new standalone (3; 1 with --growth)
  --slots    of all executors (16)
  --sync     when the broker flushes messages to disk (always)
  --out      the folder for the results as JSON (bench-results)
  --compare  measure a commit of this repository beside this state, in turns
  --growth   how the figures change with the number of ${NAMES.join(', ')}
  --most     the largest number of it (100000)
  --durability  what it costs that each message is flushed, beside flushing at intervals
  --quick    only to see that it works: the figures mean nothing`;

/** Reads the arguments of the command. */
export const readOptions = (args: readonly string[]): ReadOptions => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        rounds: { type: 'string' },
        slots: { type: 'string', default: '16' },
        sync: { type: 'string', default: 'always' },
        out: { type: 'string', default: 'bench-results' },
        compare: { type: 'string' },
        growth: { type: 'string', default: '' },
        most: { type: 'string', default: '100000' },
        durability: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
      },
    });
    const growth = values.growth === '' ? [] : values.growth.split(',');
    const unknown = growth.filter((name) => !NAMES.includes(name));
    if (unknown.length > 0)
      throw new RangeError(`--growth is of ${NAMES.join(', ')}, and not of ${unknown.join(', ')}.`);
    const { out, compare, durability, quick } = values;
    const ways = [compare !== undefined, growth.length > 0, durability].filter(Boolean).length;
    if (ways > 1) throw new RangeError('--compare, --growth and --durability exclude each other.');
    const sync = interval(values.sync);
    const rounds = wholeNumber('--rounds', values.rounds ?? (growth.length > 0 ? '1' : '3'), 100);
    const slots = wholeNumber('--slots', values.slots, 1_000);
    const most = wholeNumber('--most', values.most, 10_000_000);
    return {
      ok: true,
      options: { rounds, slots, sync, out, compare, growth: durability ? [DURABILITY] : growth, most, quick },
    };
  } catch (error) {
    return { ok: false, why: `${messageOf(error)}\n${USAGE}` };
  }
};

const interval = (text: string): SyncInterval => {
  if (isInterval(text)) return text;
  throw new RangeError(`--sync is always, or a time such as 1s, and not ${text}.`);
};

const isInterval = (text: string): text is SyncInterval => /^(always|[1-9]\d*(ms|s|m))$/.test(text);

const wholeNumber = (name: string, text: string, highest: number): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > highest)
    throw new RangeError(`${name} is a whole number from 1 to ${highest}, and not ${text}.`);
  return value;
};
