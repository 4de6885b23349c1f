import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@runledger/resilience/errors';
import { checkOut } from './other-checkout.ts';
import { DIMENSIONS, measureState, type ShortSize } from './measures/growth.ts';
import { httpFloor } from './measures/http-floor.ts';
import { logFloor } from './measures/log-floor.ts';
import type { Readings } from './measures/figures.ts';
import { measureRound, type Size } from './measures/round.ts';
import { readOptions, USAGE, type Options } from './options.ts';
import { columns } from './report/columns.ts';
import { commitOf, machineOf } from './report/machine.ts';
import { comparison, table } from './report/table.ts';
import type { StandaloneRequest } from './system/measured-standalone.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const WHOLE: Size = { closedSeconds: 3, steadySeconds: 8, warmUpRuns: 400, runs: 2_000, streams: 1_000 };
const QUICK: Size = { closedSeconds: 0.2, steadySeconds: 1, warmUpRuns: 8, runs: 40, streams: 20 };
/** Half a minute. */
const WHOLE_SHORT: ShortSize = { warmUpRuns: 400, warmUpRunsOfExecutor: 250, runs: 1_000, closedSeconds: 3 };
const QUICK_SHORT: ShortSize = { warmUpRuns: 8, warmUpRunsOfExecutor: 0, runs: 40, closedSeconds: 0.2 };
const QUICK_MOST = 10;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

const requestOf = ({ slots, sync }: Options, checkout: string): StandaloneRequest => {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  const cache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
  return { checkout, slots, executors: 1, syncInterval: sync, environment: { PATH, HOME, ...cache } };
};

const sizeOf = ({ quick }: Options): Size => (quick ? QUICK : WHOLE);

const save = async ({ out }: Options, files: ReadonlyMap<string, string>): Promise<void> => {
  await mkdir(out, { recursive: true });
  for (const [name, text] of files) await writeFile(join(out, name), text);
  tell(`Written: ${[...files.keys()].map((name) => join(out, name)).join(', ')}`);
};

const resultsOf = async (options: Options, measured: object): Promise<string> => {
  const about = { began: new Date().toISOString(), commit: await commitOf(CHECKOUT), machine: machineOf() };
  return `${JSON.stringify({ ...about, size: sizeOf(options), ...measured }, undefined, 2)}\n`;
};

const measureAlone = async (options: Options): Promise<void> => {
  const rounds: Readings[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Round ${round} of ${options.rounds}`);
    const size = sizeOf(options);
    rounds.push({
      ...(await httpFloor(size.closedSeconds)),
      ...(await logFloor(requestOf(options, CHECKOUT), size)),
      ...(await measureRound(requestOf(options, CHECKOUT), size)),
    });
  }
  print(table(rounds));
  await save(options, new Map([['results.json', await resultsOf(options, { rounds })]]));
};

const measureBeside = async (options: Options, commit: string): Promise<void> => {
  await using other = await checkOut(CHECKOUT, commit);
  const [before, after]: [Readings[], Readings[]] = [[], []];
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Round ${round} of ${options.rounds}`);
    const sides: [Readings[], string][] = [
      [before, other.path],
      [after, CHECKOUT],
    ];
    // Who comes second finds another machine.
    for (const [readings, checkout] of round % 2 === 1 ? sides : sides.toReversed())
      readings.push(await measureRound(requestOf(options, checkout), sizeOf(options)));
  }
  print(comparison(before, after));
  await save(options, new Map([['compared.json', await resultsOf(options, { commit, before, after })]]));
};

/** The states that could not be measured, each with the reason: what was measured of the others stays worth showing. */
const measureStates = async (options: Options, name: string): Promise<string[]> => {
  const dimension = DIMENSIONS[name];
  if (dimension === undefined) throw new RangeError(`nothing grows that is called ${name}`);
  const { title } = dimension;
  const most = options.quick ? Math.min(QUICK_MOST, options.most) : options.most;
  const wanted = dimension.states.filter((one) => typeof one !== 'number' || one <= most);
  const failures: string[] = [];
  const byState = new Map(wanted.map((state) => [state, [] as Readings[]]));
  for (let round = 0; round < options.rounds; round += 1)
    // Another one comes first in each round.
    for (const at of wanted.keys()) {
      const state = wanted[(round + at) % wanted.length] ?? 0;
      tell(`Round ${round + 1} of ${options.rounds}: ${title} ${state}`);
      const size = options.quick ? QUICK_SHORT : WHOLE_SHORT;
      try {
        const readings = await measureState(requestOf(options, CHECKOUT), dimension, state, size);
        byState.get(state)?.push(readings);
      } catch (error) {
        failures.push(`${title} ${state}: ${messageOf(error)}`);
      }
    }
  const states = wanted.filter((state) => byState.get(state)?.length);
  const measured = states.map((state) => byState.get(state) ?? []);
  const heads = states.map((state) => state.toLocaleString('en-GB'));
  print(columns(title, heads, measured));
  const results = await resultsOf(options, { states, measured, failures });
  await save(options, new Map([[`growth-${name}.json`, results]]));
  return failures;
};

const run = async (options: Options): Promise<void> => {
  if (options.compare !== undefined) return measureBeside(options, options.compare);
  const failures: string[] = [];
  for (const name of options.growth) failures.push(...(await measureStates(options, name)));
  if (failures.length > 0) throw new Error(`Not measured:\n${failures.join('\n')}`);
  if (options.growth.length === 0) await measureAlone(options);
};

const main = async (args: readonly string[]): Promise<number> => {
  const read = readOptions(args);
  if (args.includes('--help')) print(USAGE);
  else if (read.ok) await run(read.options);
  else tell(read.why);
  return read.ok || args.includes('--help') ? 0 : 2;
};

process.exit(await main(process.argv.slice(2)));
