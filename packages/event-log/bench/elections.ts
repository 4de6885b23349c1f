/**
 * How long the log of three brokers takes no append after the leader of RUNS is killed, is stopped in order, and after all three
 * start: from the blow to the acknowledgement of an append that began with it. Ends with the median and the longest.
 * `node scripts/run.mjs packages/event-log/bench/elections.ts [rounds]`
 */
import { aRun, queued } from '@runledger/testing/run-events';
import type { TestNats } from '@runledger/testing/servers/nats';
import { testNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { append } from '../src/append/append.ts';
import { LogUnavailable, openEventLog } from '../src/connect/event-log.ts';
import { silentLogger } from '../src/connect/observability.ts';
import { awaitProvisioned, provision } from '../src/provision/provision.ts';
import { settledLeader } from '../test/fixtures/cluster-log.ts';

const ROUNDS = Number(process.argv[2] ?? 10);

await using cluster = await testNatsCluster();
const began = performance.now();
await using log = await openEventLog({ url: cluster.url, name: 'bench' }, silentLogger);
await provision(log, { replicas: 3 });
await awaitProvisioned(log);
process.stdout.write(
  `first start, until all streams can be used: ${(performance.now() - began).toFixed(0)} ms\n`,
);

/** With all three in touch, so that the next blow meets a whole cluster. */
const leader = async (): Promise<TestNats> => {
  const number = await settledLeader(log);
  const found = cluster.servers[number];
  if (!found) throw new Error(`there is no broker ${number}`);
  return found;
};

/** How long an append takes, and how many tries of the length of a request gave up. */
const untilAppended = async (): Promise<{ readonly ms: number; readonly refused: number }> => {
  const start = performance.now();
  for (let refused = 0; ; refused += 1) {
    try {
      await append(log, queued(aRun()), 0);
      return { ms: performance.now() - start, refused };
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
    }
  }
};

const measure = async (
  name: string,
  strike: (server: TestNats) => Promise<void>,
  mend?: (server: TestNats) => Promise<void>,
): Promise<void> => {
  const times: number[] = [];
  let refusals = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const struck = await leader();
    const strikes = strike(struck);
    const { ms, refused } = await untilAppended();
    times.push(ms);
    refusals += refused;
    await strikes;
    await mend?.(struck);
  }
  times.sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? 0;
  process.stdout.write(
    `${name}: median ${median.toFixed(0)} ms, longest ${(times.at(-1) ?? 0).toFixed(0)} ms, ${refusals} requests gave up\n`,
  );
};

await measure(
  'leader killed',
  (server) => server.kill9(),
  (server) => server.restart(),
);
await measure('leader restarted in order', (server) => server.restart());
