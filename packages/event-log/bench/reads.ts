/**
 * Compares reads that prove that they are not stale with plain reads of the leader: at one broker, where they are the same,
 * and at three, quiet and while another process appends. Alternating rounds on the same machine; ends with the ratios.
 * `node scripts/run.mjs packages/event-log/bench/reads.ts [runs] [rounds] [ms of a round]`
 */
import { aRun, queued } from '@runledger/testing/run-events';
import { testNats } from '@runledger/testing/servers/nats';
import { testNatsCluster } from '@runledger/testing/servers/nats-cluster';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { append } from '../src/append/append.ts';
import { openEventLog, type EventLog } from '../src/connect/event-log.ts';
import { silentLogger } from '../src/connect/observability.ts';
import { withFreshReads } from '../src/read/fresh-reads.ts';
import { awaitProvisioned, provision } from '../src/provision/provision.ts';
import { lastOfRun } from '../src/read/read-run.ts';

const RUNS = Number(process.argv[2] ?? 1_000);
const ROUNDS = Number(process.argv[3] ?? 5);
const ROUND_MS = Number(process.argv[4] ?? 2_000);
const APPENDS_AT_ONCE = 16;

interface Rate {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const measure = async (atOnce: number, one: () => Promise<unknown>): Promise<Rate> => {
  const times: number[] = [];
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (performance.now() - began < ROUND_MS) {
      const start = performance.now();
      await one();
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const perSecond = (times.length / (performance.now() - began)) * 1_000;
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
  return { perSecond, p50: at(0.5), p99: at(0.99) };
};

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Prints the medians of both, and their ratios. */
const compare = async (
  name: string,
  log: EventLog,
  keys: readonly RunKey[],
  atOnce: number,
): Promise<void> => {
  const fresh = withFreshReads(log, () => performance.now());
  const key = (): RunKey => keys[Math.floor(Math.random() * keys.length)] ?? aRun();
  const [plainly, proven]: [Rate[], Rate[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    plainly.push(await measure(atOnce, () => lastOfRun(log, key())));
    proven.push(await measure(atOnce, () => lastOfRun(fresh, key())));
  }
  const of = (rates: readonly Rate[], what: keyof Rate): number => median(rates.map((rate) => rate[what]));
  const ratio = (what: keyof Rate): string =>
    `${what} ${of(plainly, what).toFixed(2)} -> ${of(proven, what).toFixed(2)} (${(of(proven, what) / of(plainly, what)).toFixed(2)})`;
  process.stdout.write(
    `${name}, ${atOnce} at once: ${ratio('perSecond')}, ${ratio('p50')}, ${ratio('p99')}\n`,
  );
};

const fill = async (log: EventLog): Promise<RunKey[]> => {
  const keys = Array.from({ length: RUNS }, aRun);
  for (const key of keys) await append(log, queued(key), 0);
  return keys;
};

/** Quiet, and while appends go on. */
const compareAll = async (name: string, log: EventLog): Promise<void> => {
  const keys = await fill(log);
  for (const atOnce of [1, 64]) await compare(`${name}, quiet`, log, keys, atOnce);
  const over = new AbortController();
  let appends = 0;
  const began = performance.now();
  const appending = Array.from({ length: APPENDS_AT_ONCE }, async () => {
    for (; !over.signal.aborted; appends += 1) await append(log, queued(aRun()), 0);
  });
  for (const atOnce of [1, 64]) await compare(`${name}, under appends`, log, keys, atOnce);
  over.abort();
  await Promise.all(appending);
  process.stdout.write(
    `${name}: ${((appends / (performance.now() - began)) * 1_000).toFixed(0)} appends a second meanwhile\n`,
  );
};

{
  await using nats = await testNats();
  await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
  await provision(log);
  await compareAll('one broker', log);
}
{
  await using cluster = await testNatsCluster();
  await using log = await openEventLog({ url: cluster.url, name: 'bench' }, silentLogger);
  await provision(log, { replicas: 3 });
  await awaitProvisioned(log);
  await compareAll('three brokers', log);
}
