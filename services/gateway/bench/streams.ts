/**
 * What 1,000 open streams on one gateway cost: memory for each, processor time while nothing happens, and how long a fact
 * takes to its client, beside one stream alone. `node scripts/run.mjs services/gateway/bench/streams.ts [streams] [rounds] [facts]`
 */
import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { head } from '@runledger/event-log/read/read-run';
import { testNats } from '@runledger/testing/servers/nats';
import { assigned, aRun, queued } from '@runledger/testing/run-events';
import { createApiKey } from '../src/records/keys/api-keys.ts';
import { startStreams, type Usage } from './streams-process.ts';

const STREAMS = Number(process.argv[2] ?? 1_000);
const ROUNDS = Number(process.argv[3] ?? 3);
/** Facts in each measurement of the latency. */
const FACTS = Number(process.argv[4] ?? 200);
const IDLE_MS = 20_000;
const OPEN_AT_ONCE = 32;
/** Between two facts, so that what opening a stream leaves to do is over. */
const REST_MS = 10;

await using nats = await testNats();
await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
await provision(log);
const org_id = newUuid();
const { key } = await createApiKey(log, { org_id, user_id: newUuid(), name: 'bench' });
await using gateway = await startStreams(nats.url);

interface Client extends Disposable {
  /** When the stream has sent this number of facts, in milliseconds. */
  fact(count: number): Promise<number>;
}

const openStream = async (run: RunKey): Promise<Client> => {
  const request = get(gateway.eventsOf(run), { agent: false, headers: { authorization: `Bearer ${key}` } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the gateway answered ${response.statusCode}`);
  const times: number[] = [];
  let wake = (): void => undefined;
  response.setEncoding('utf8').on('data', (text: string) => {
    for (const _ of text.matchAll(/^event: fact$/gm)) times.push(performance.now());
    wake();
  });
  return {
    fact: async (count) => {
      for (;;) {
        const at = times[count - 1];
        if (at !== undefined) return at;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    [Symbol.dispose]: () => request.destroy(),
  };
};

const aQueuedRun = async (): Promise<RunKey> => {
  const run = aRun(org_id);
  await append(log, queued(run), 0);
  return run;
};

/** From before the append to the last of these clients, in milliseconds; the first fact of the run was sent before. */
const latency = async (run: RunKey, clients: readonly Client[]): Promise<number> => {
  const before = await head(log, run);
  await pause(REST_MS);
  const began = performance.now();
  await append(log, assigned(run), before);
  return Math.max(...(await Promise.all(clients.map((client) => client.fact(2))))) - began;
};

const openAll = async (runs: readonly RunKey[]): Promise<Client[]> => {
  const clients: Client[] = [];
  for (let from = 0; from < runs.length; from += OPEN_AT_ONCE) {
    const some = await Promise.all(runs.slice(from, from + OPEN_AT_ONCE).map(openStream));
    await Promise.all(some.map((client) => client.fact(1)));
    clients.push(...some);
  }
  return clients;
};

const queueAll = (count: number): Promise<RunKey[]> => Promise.all(Array.from({ length: count }, aQueuedRun));

const alone = async (): Promise<number[]> => {
  const latencies: number[] = [];
  for (const run of await queueAll(FACTS)) {
    using client = await openStream(run);
    await client.fact(1);
    latencies.push(await latency(run, [client]));
  }
  return latencies;
};

const cpuOver = async (ms: number): Promise<{ readonly usage: Usage; readonly share: number }> => {
  const before = await gateway.usage();
  await pause(ms);
  const usage = await gateway.usage();
  return { usage, share: (usage.cpuMs - before.cpuMs) / ms };
};

const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(Math.floor(values.length * q), values.length - 1)] ?? 0;
const median = (values: readonly number[]): number => quantile(values, 0.5);
const ms = (values: readonly number[]): string =>
  `p50 ${median(values).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms`;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

await alone();
const ratios: Record<'own' | 'shared', number[]> = { own: [], shared: [] };
for (let round = 1; round <= ROUNDS; round += 1) {
  const single = await alone();
  const empty = await cpuOver(IDLE_MS / 4);
  const runs = await queueAll(STREAMS);
  const own = await openAll(runs);
  const open = await cpuOver(IDLE_MS);
  const latencies: number[] = [];
  for (const [n, run] of runs.slice(0, FACTS).entries()) {
    const client = own[n];
    if (client) latencies.push(await latency(run, [client]));
  }
  for (const client of own) client[Symbol.dispose]();
  const one = await aQueuedRun();
  const shared = await openAll(Array.from({ length: STREAMS }, () => one));
  const fanOut = await latency(one, shared);
  for (const client of shared) client[Symbol.dispose]();

  const kB = (of: 'heap' | 'rss'): string =>
    ((open.usage[of] - empty.usage[of]) / STREAMS / 1_000).toFixed(1);
  ratios.own.push(median(latencies) / median(single));
  ratios.shared.push(fanOut / median(single));
  say(`round ${round}, one stream: ${ms(single)}; idle ${(empty.share * 100).toFixed(2)} % of a processor`);
  say(
    `  ${STREAMS} streams of as many runs: ${ms(latencies)}; idle ${(open.share * 100).toFixed(2)} % of a processor; ` +
      `heap ${kB('heap')} kB, memory ${kB('rss')} kB for each`,
  );
  say(`  ${STREAMS} streams of one run: the last has the fact after ${fanOut.toFixed(1)} ms`);
}
say(
  `${STREAMS} streams beside one, median of ${ROUNDS}: latency p50 ${median(ratios.own).toFixed(2)} times,`,
);
say(`last of all streams of one run ${median(ratios.shared).toFixed(1)} times`);
