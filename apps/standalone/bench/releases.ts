/**
 * Two checkouts side by side, each as one standalone, in alternating rounds: how many runs a second clients queue and read over HTTP,
 * with views in SQLite and in MongoDB, and what a whole run leaves on disk.
 * `node scripts/run.mjs apps/standalone/bench/releases.ts [runs] [rounds] [folder of another checkout]`
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openSharedMongo } from '@runledger/testing/servers/shared-mongo';
import { aStandalone, type MeasuredStandalone } from './a-standalone.ts';

const RUNS = Number(process.argv[2] ?? 400);
const ROUNDS = Number(process.argv[3] ?? 3);
const OWN = join(import.meta.dirname, '..', '..', '..');
const CHECKOUTS = [OWN, ...process.argv.slice(4, 5)];
const AT_ONCE = 16;
const WORKFLOW_BYTES = 100_000;
const INPUT_BYTES = [1_000, 100_000];
/** They wait for an executor, which takes longer than to queue them. */
const WHOLE_RUNS = Math.min(RUNS, 20);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** How many a second, with some at once. */
const rateOf = async <Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<number> => {
  const left = items.values();
  const began = performance.now();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return (items.length / (performance.now() - began)) * 1_000;
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

const rates = async (checkout: string, environment: Readonly<Record<string, string>>): Promise<string> => {
  // The sample needs another card, so its runs stay queued.
  await using standalone = await aStandalone(checkout, { ...environment, EXECUTOR_GPUS: 'H100:1' });
  const { call } = standalone;
  const runs: string[] = [];
  const all = Array.from({ length: RUNS }, () => 1_000);
  const post = await rateOf(all, async (bytes) => runs.push(await queue(standalone, bytes)));
  const get = await rateOf(runs, (run) => call(`/run/${run}`));
  await rateOf(runs, (run) => call(`/run/${run}/cancel`, {}));
  const getEnded = await rateOf(runs, (run) => call(`/run/${run}`));
  const deployment_id = await largeDeployment(standalone);
  const large: string[] = [];
  const postLarge = await rateOf(all, async () => {
    large.push(String((await call('/run/deployment/queue', { deployment_id }))['run_id']));
  });
  const getLarge = await rateOf(large, (run) => call(`/run/${run}`));
  return (
    `POST ${post.toFixed(0)}/s, GET of queued runs ${get.toFixed(0)}/s, of ended runs ${getEnded.toFixed(0)}/s; ` +
    `with a workflow of 100 KB: POST ${postLarge.toFixed(0)}/s, GET ${getLarge.toFixed(0)}/s`
  );
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
    await rateOf(Array.from({ length: WHOLE_RUNS }), async () => {
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
for (let round = 1; round <= ROUNDS; round += 1) {
  for (const checkout of round % 2 === 1 ? CHECKOUTS : CHECKOUTS.toReversed()) {
    const name = `round ${round}, ${checkout}`;
    say(`${name}, SQLite: ${await rates(checkout, common)}`);
    const inMongo = { ...common, MONGODB_URL: databases.next().value };
    say(`${name}, MongoDB (${mongo.source}): ${await rates(checkout, inMongo)}`);
    if (round === 1) say(`${name}, a whole run: ${await bytesOnDisk(checkout, common)}`);
  }
}
