import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SyncInterval } from '@runledger/local-servers/nats-server';
import { checkOut } from './other-checkout.ts';
import { DIMENSIONS, measureSize } from './measures/growth.ts';
import { httpFloor } from './measures/http-floor.ts';
import { logFloor } from './measures/log-floor.ts';
import type { Readings } from './measures/figures.ts';
import { measureRound, type Size } from './measures/round.ts';
import { shortRound, type ShortSize } from './measures/short-round.ts';
import { readOptions, USAGE, type Options } from './options.ts';
import { columns } from './report/columns.ts';
import { commitOf, machineOf } from './report/machine.ts';
import { comparison, table } from './report/table.ts';
import { startStandalone, type StandaloneRequest } from './system/measured-standalone.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const WHOLE: Size = { closedSeconds: 3, steadySeconds: 8, runs: 2_000, streams: 1_000 };
const QUICK: Size = { closedSeconds: 0.2, steadySeconds: 1, runs: 40, streams: 20 };
/** Half a minute. */
const WHOLE_SHORT: ShortSize = { warmUpRuns: 400, warmUpRunsOfExecutor: 250, runs: 1_000, seconds: 3 };
const QUICK_SHORT: ShortSize = { warmUpRuns: 8, warmUpRunsOfExecutor: 0, runs: 40, seconds: 0.2 };
const QUICK_MOST = 10;
/** The last one is what nats-server does by itself. */
const SYNC_INTERVALS: readonly SyncInterval[] = ['always', '1s', '2m'];

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

const requestOf = ({ slots, sync }: Options, checkout: string): StandaloneRequest => {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  const cache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
  return { checkout, slots, executors: 1, syncInterval: sync, environment: { PATH, HOME, ...cache } };
};

const sizeOf = ({ quick }: Options): Size => (quick ? QUICK : WHOLE);

const shortSizeOf = ({ quick }: Options): ShortSize => (quick ? QUICK_SHORT : WHOLE_SHORT);

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

/** The sizes that could not be measured, each with the reason: what was measured of the others stays worth showing. */
const measureGrowth = async (options: Options, name: string): Promise<string[]> => {
  const dimension = DIMENSIONS[name];
  if (dimension === undefined) throw new RangeError(`nothing grows that is called ${name}`);
  const most = options.quick ? Math.min(QUICK_MOST, options.most) : options.most;
  const failures: string[] = [];
  const bySize = new Map<number, Readings[]>();
  for (let round = 1; round <= options.rounds; round += 1)
    for (const size of dimension.sizes.filter((one) => one <= most)) {
      tell(`Round ${round} of ${options.rounds}: ${size} ${dimension.title}`);
      try {
        const readings = await measureSize(
          requestOf(options, CHECKOUT),
          dimension,
          size,
          shortSizeOf(options),
        );
        bySize.set(size, [...(bySize.get(size) ?? []), readings]);
      } catch (error) {
        failures.push(
          `${size} ${dimension.title}: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  const sizes = dimension.sizes.filter((size) => bySize.has(size));
  const measured = sizes.map((size) => bySize.get(size) ?? []);
  const heads = sizes.map((size) => size.toLocaleString('en-GB'));
  print(columns(dimension.title, heads, measured));
  await save(
    options,
    new Map([[`growth-${name}.json`, await resultsOf(options, { sizes, measured, failures })]]),
  );
  return failures;
};

const measureDurability = async (options: Options): Promise<void> => {
  const measured: Readings[][] = SYNC_INTERVALS.map(() => []);
  for (let round = 0; round < options.rounds; round += 1)
    // Another one comes first in each round.
    for (const turn of SYNC_INTERVALS.keys()) {
      const at = (round + turn) % SYNC_INTERVALS.length;
      const syncInterval = SYNC_INTERVALS[at] ?? 'always';
      tell(`Round ${round + 1} of ${options.rounds}: flushed ${syncInterval}`);
      await using system = await startStandalone({ ...requestOf(options, CHECKOUT), syncInterval });
      measured[at]?.push(await shortRound(system, [system], shortSizeOf(options)));
    }
  print(columns('messages are flushed', SYNC_INTERVALS, measured));
  const results = await resultsOf(options, { intervals: SYNC_INTERVALS, measured });
  await save(options, new Map([['durability.json', results]]));
};

const run = async (options: Options): Promise<void> => {
  if (options.durability) return measureDurability(options);
  if (options.compare !== undefined) return measureBeside(options, options.compare);
  const failures: string[] = [];
  for (const name of options.growth) failures.push(...(await measureGrowth(options, name)));
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
