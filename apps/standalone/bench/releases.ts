/**
 * Two checkouts side by side, each as one standalone: how many runs a second clients queue and read over HTTP, with views in SQLite
 * and in MongoDB, and what a whole run leaves on disk. Both stand at the same time and take turns of a second or less, so that
 * a machine whose speed changes is as fast for one as for the other.
 * `node scripts/run.mjs apps/standalone/bench/releases.ts [turns] [runs of a turn] [whole runs] [folder of another checkout]`
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openSharedMongo } from '@runledger/testing/servers/shared-mongo';
import { aStandalone, type MeasuredStandalone } from './a-standalone.ts';

const TURNS = Number(process.argv[2] ?? 12);
const OWN = join(import.meta.dirname, '..', '..', '..');
const CHECKOUTS = [OWN, ...process.argv.slice(5, 6)];
const AT_ONCE = 16;
/** In each turn. */
const QUEUED = Number(process.argv[3] ?? 200);
const READ_ENDED = 2.5 * QUEUED;
/** After each measure. */
const SETTLE_MS = 300;
const WORKFLOW_BYTES = 100_000;
const INPUT_BYTES = [1_000, 100_000];
/** They wait for an executor, which takes longer than to queue them. */
const WHOLE_RUNS = Number(process.argv[4] ?? 20);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The seconds that work on all items takes, with some at once. */
const secondsOf = async <Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<number> => {
  const left = items.values();
  const began = performance.now();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return (performance.now() - began) / 1_000;
};

/** The sample ignores `text`. It differs in each run, because equal inputs of an organisation are stored once. */
const queue = async (
  { call, deploymentId }: MeasuredStandalone,
  bytes: number,
  inputs = {},
): Promise<string> => {
  const text = randomUUID().padEnd(bytes, 'x');
  const queued = await call('/run/deployment/queue', {
    deployment_id: deploymentId,
    inputs: { ...inputs, text },
  });
  return String(queued['run_id']);
};

/** A deployment whose workflow is large. Its runs have no inputs. */
const largeDeployment = async ({ call, deploymentId }: MeasuredStandalone): Promise<string> => {
  const { workflow_id: of, machine_id, environment } = await call(`/deployments/${deploymentId}`);
  const workflow = { padding: 'x'.repeat(WORKFLOW_BYTES) };
  const { id } = await call(`/workflows/${String(of)}/versions`, { workflow });
  const made = await call('/deployments', {
    name: 'large',
    workflow_version_id: id,
    machine_id,
    environment,
  });
  return String(made['id']);
};

/** What each turn measured: how many a second, and the processor time of all processes for each, in ms. */
interface Turns {
  readonly rates: number[];
  readonly processorTimes: number[];
}

/** One checkout in the race. */
interface Side {
  readonly standalone: MeasuredStandalone;
  readonly largeId: string;
  readonly measured: Map<string, Turns>;
}

const turn = async ({ standalone, largeId, measured }: Side): Promise<void> => {
  const { call } = standalone;
  const measure = async <Item>(
    what: string,
    items: readonly Item[],
    work: (item: Item) => Promise<unknown>,
  ): Promise<void> => {
    const before = standalone.processorTime();
    const rate = items.length / (await secondsOf(items, work));
    // The views and the scheduler follow.
    await pause(SETTLE_MS);
    const { rates, processorTimes } = measured.get(what) ?? { rates: [], processorTimes: [] };
    rates.push(rate);
    processorTimes.push((standalone.processorTime() - before) / items.length);
    measured.set(what, { rates, processorTimes });
  };
  const runs: string[] = [];
  const queued = Array.from({ length: QUEUED });
  const again = Array.from({ length: READ_ENDED }, (_, index) => index % QUEUED);
  await measure('POST', queued, async () => runs.push(await queue(standalone, 1_000)));
  await measure('GET of queued runs', runs, (run) => call(`/run/${run}`));
  await secondsOf(runs, (run) => call(`/run/${run}/cancel`, {}));
  await pause(SETTLE_MS);
  await measure('GET of ended runs', again, (index) => call(`/run/${runs[index]}`));
  const large: string[] = [];
  await measure('POST, workflow of 100 KB', queued, async () => {
    large.push(String((await call('/run/deployment/queue', { deployment_id: largeId }))['run_id']));
  });
  await measure('GET, workflow of 100 KB', large, (run) => call(`/run/${run}`));
  await secondsOf(large, (run) => call(`/run/${run}/cancel`, {}));
  await pause(SETTLE_MS);
};

/** Each checkout with an environment of its own. The first turn of each warms it up, and counts only when there is no other. */
const race = async (
  name: string,
  environments: readonly Readonly<Record<string, string>>[],
): Promise<void> => {
  await using open = new AsyncDisposableStack();
  const sides: Side[] = [];
  for (const [index, checkout] of CHECKOUTS.entries()) {
    // The sample needs another card, so its runs stay queued.
    const standalone = open.use(
      await aStandalone(checkout, { ...environments[index], EXECUTOR_GPUS: 'H100:1' }),
    );
    sides.push({ standalone, largeId: await largeDeployment(standalone), measured: new Map() });
  }
  for (let number = 0; number <= TURNS; number += 1) {
    if (number === 1) for (const { measured } of sides) measured.clear();
    for (const side of number % 2 === 0 ? sides : sides.toReversed()) await turn(side);
  }
  const [own, other] = sides;
  for (const [what, { rates, processorTimes }] of own?.measured ?? []) {
    const others = other?.measured.get(what);
    say(
      `${name}, ${what}: ${compare(rates, others?.rates)} a second, ${compare(processorTimes, others?.processorTimes)} ms each`,
    );
  }
};

const compare = (own: readonly number[], before?: readonly number[]): string =>
  before === undefined
    ? digits(median(own))
    : `${digits(median(before))} to ${digits(median(own))}, ratio ${ratios(own, before)}`;

const digits = (value: number): string => (value < 100 ? value.toPrecision(2) : value.toFixed(0));

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** The median of the ratios of turns that followed each other, and its quartiles. */
const ratios = (own: readonly number[], other: readonly number[]): string => {
  const sorted = own.map((rate, index) => rate / (other[index] ?? NaN)).toSorted((a, b) => a - b);
  const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? NaN).toFixed(2);
  return `${at(0.5)} (${at(0.25)} to ${at(0.75)})`;
};

const bytesOnDisk = async (
  checkout: string,
  environment: Readonly<Record<string, string>>,
): Promise<string> => {
  await using standalone = await aStandalone(checkout, { ...environment, EXECUTOR_GPUS: 'A10G:4' });
  const { call, streamBytes } = standalone;
  const sizes: string[] = [];
  for (const bytes of INPUT_BYTES) {
    const before = { runs: streamBytes('RUNS'), blobs: streamBytes('BLOBS') };
    await secondsOf(Array.from({ length: WHOLE_RUNS }), async () => {
      const run = await queue(standalone, bytes, { seconds: 0, size: 16 });
      for (; (await call(`/run/${run}?wait=20`))['finished'] !== true;);
    });
    const each = (after: number, from: number): string => ((after - from) / WHOLE_RUNS).toFixed(0);
    sizes.push(
      `${bytes / 1_000} KB of inputs: RUNS ${each(streamBytes('RUNS'), before.runs)} B, BLOBS ${each(streamBytes('BLOBS'), before.blobs)} B`,
    );
  }
  return sizes.join('; ');
};

await using open = new AsyncDisposableStack();
const mongo = await openSharedMongo(process.env, open, say);
/** Each standalone has a database of its own. */
const databases = (function* () {
  for (let number = 0; ; number += 1) {
    const url = new URL(mongo.url);
    url.pathname = `/bench_${Date.now()}_${number}`;
    yield url.href;
  }
})();

const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
const common = { PATH, HOME, NODE_COMPILE_CACHE };
await race(
  'SQLite',
  CHECKOUTS.map(() => common),
);
await race(
  `MongoDB (${mongo.source})`,
  CHECKOUTS.map(() => ({ ...common, MONGODB_URL: databases.next().value })),
);
for (const checkout of CHECKOUTS) say(`a whole run of ${checkout}: ${await bytesOnDisk(checkout, common)}`);
