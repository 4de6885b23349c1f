/**
 * What it costs that one of three brokers is frozen for 30 s, a follower of RUNS: the longest time from one good answer of each
 * gateway to the next, how many requests were refused, and at the end the attempts of programs that ran all the time.
 * Its return is included, which costs an election (ADR 49): services/gateway/bench/frozen-broker.ts measures both apart.
 * `node scripts/run.mjs apps/soak/bench/frozen-broker.ts [rounds] [seconds] [executors]`
 */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { orgId, runId } from '@runledger/contracts/ids';
import { streamState } from '@runledger/event-log/read/leader-read';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { readRun } from '@runledger/event-log/read/read-run';
import { startCluster, type Cluster } from '../src/cluster/cluster.ts';
import { steadyClock } from '../src/cluster/clock.ts';
import type { Part } from '../src/cluster/part.ts';
import { SMALL } from '../src/size.ts';

const ROUNDS = Number(process.argv[2] ?? 3);
const FROZEN_MS = Number(process.argv[3] ?? 30) * 1_000;
const EXECUTORS = Number(process.argv[4] ?? 2);
/** By every request. */
const NEEDED: readonly string[] = ['KV_KEYS', 'KV_CATALOGUE', 'KV_RATES'];
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 15_000;
/** Longer than all rounds. */
const PROGRAM_S = ROUNDS * (FROZEN_MS / 1_000 + 30);
const QUOTAS = { ...SMALL.quotas, queuedRuns: 100_000 };
/** The product's heartbeat period. */
const SIZE = {
  ...SMALL,
  heartbeatPeriodS: 6,
  brokers: 3,
  executors: EXECUTORS,
  slotsPerExecutor: 2,
  quotas: QUOTAS,
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const asker =
  ({ organisation }: Cluster) =>
  async (gateway: string, path: string, body?: object): Promise<Response> =>
    fetch(`${gateway}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${organisation.api_key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });

interface Answers {
  /** The longest time from one good answer to the next, in milliseconds, when one request is sent after the other. */
  longest: number;
  /** Anything but a good answer. */
  refused: number;
}

const answersOf = async (good: () => Promise<boolean>, until: AbortSignal): Promise<Answers> => {
  const answers = { longest: 0, refused: 0 };
  for (let lastGood = performance.now(); !until.aborted; await pause(ASK_EVERY_MS)) {
    const isGood = await good().catch(() => false);
    const now = performance.now();
    answers.longest = Math.max(answers.longest, now - lastGood);
    if (isGood) lastGood = now;
    else answers.refused += 1;
  }
  return answers;
};

const shown = async (one: readonly Promise<Answers>[]): Promise<string> => {
  const answers = await Promise.all(one);
  const seconds = answers.map(({ longest }) => (longest / 1_000).toFixed(1)).join(' and ');
  return `${seconds} s, ${answers.reduce((sum, { refused }) => sum + refused, 0)} refused`;
};

const followers = async ({ log, parts }: Cluster): Promise<readonly Part[]> => {
  const { cluster } = await log.jsm.streams.info('RUNS');
  return parts.filter(({ role, name }) => role === 'broker' && name !== cluster?.leader);
};

/** The streams that this broker leads: each needs an election when it is frozen. */
const ledBy = async ({ log }: Cluster, broker: string): Promise<readonly string[]> => {
  const infos = await Promise.all(ALL_STREAMS.map((stream) => streamState(log, stream)));
  return infos.flatMap(({ config, cluster }) => (cluster?.leader === broker ? [config.name] : []));
};

/** A gateway moves the leaders to the broker that leads RUNS, as soon as all brokers are back. */
const untilLedTogether = async (cluster: Cluster): Promise<readonly Part[]> => {
  for (;;) {
    const others = await followers(cluster);
    const led = await Promise.all(others.map(({ name }) => ledBy(cluster, name)));
    // FLEET, TIMERS, EXECUTORS and SNAPSHOTS are not the gateways', and no request needs them.
    if (!led.flat().some((stream) => NEEDED.includes(stream))) return others;
    await pause(1_000);
  }
};

await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-bench-frozen-'));
const began = performance.now();
await using cluster = await startCluster({
  folder: folder.path,
  size: SIZE,
  env: process.env,
  now: steadyClock,
  print: say,
});
say(`first start of everything: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
const ask = asker(cluster);
const { gateways, organisation } = cluster;
const [gateway = ''] = gateways;

const queue = async (seconds: number, from: string): Promise<string> => {
  const response = await ask(from, '/run/deployment/queue', {
    deployment_id: organisation.deployments.ordinary,
    inputs: { seconds: String(seconds), what: 'text' },
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return Object(await response.json())['run_id'];
};

const running = await Promise.all(
  Array.from({ length: SIZE.executors * SIZE.slotsPerExecutor }, () => queue(PROGRAM_S, gateway)),
);
for (const run of running) {
  while (Object(await (await ask(gateway, `/run/${run}`)).json())['status'] !== 'running') await pause(200);
}

for (let round = 0; round < ROUNDS; round += 1) {
  const victims = await untilLedTogether(cluster);
  const victim = victims[round % victims.length];
  if (!victim) throw new Error('RUNS has no follower');
  const led = await ledBy(cluster, victim.name);
  const over = new AbortController();
  const reads = gateways.map((at) =>
    answersOf(async () => (await ask(at, `/run/${running[0]}`)).ok, over.signal),
  );
  const writes = gateways.map((at) => answersOf(async () => Boolean(await queue(0, at)), over.signal));
  await victim.inject('pause', FROZEN_MS);
  over.abort();
  say(
    `${victim.name} frozen, which leads ${led.join(', ') || 'nothing'}; longest between good answers: ` +
      `GET ${await shown(reads)}; POST ${await shown(writes)}`,
  );
}

const attempts = await Promise.all(
  running.map(async (run) => {
    const read = await readRun(cluster.log, { org_id: orgId(organisation.org_id), run_id: runId(run) });
    return read.kind === 'found' && 'attempt' in read.run ? read.run.attempt?.number : undefined;
  }),
);
say(`attempts of the ${running.length} running programs: ${attempts.join(', ')}`);
