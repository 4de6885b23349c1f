/**
 * What deferred deliveries of dead receivers cost the others: the memory of the notifier, and the time from the end
 * of a run until a healthy receiver has its notification.
 * `node scripts/run.mjs services/notifier/bench/deferred.ts [deferred deliveries] [dead hosts] [runs]`
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { atOnce, quantile, range } from './at-once.ts';
import { deferDeliveries, type Dead } from './dead-receivers.ts';
import { startNotifier } from './notifier-process.ts';
import { memory } from './process-usage.ts';
import { openReceivers } from './receivers.ts';
import { end, prepareRunning, runOfHost, type Prepared } from './runs.ts';

const DEFERRED = Number(process.argv[2] ?? 100_000);
/** Only the scenario with this number of dead hosts. */
const ONLY = process.argv[3];
const HEALTHY = 20;
const RUNS = Number(process.argv[4] ?? 1_000);
const RUNS_PER_SECOND = 50;

const SCENARIOS: readonly Dead[] = [
  { hosts: 0, deferred: 0, probedWithinS: 0 },
  { hosts: 100, deferred: DEFERRED, probedWithinS: 60 },
  { hosts: 20_000, deferred: DEFERRED, probedWithinS: 900 },
];

interface Measured {
  /** Milliseconds, of each run. */
  readonly lags: readonly number[];
  readonly rss: number;
  readonly peak: number;
  readonly deferred: number;
}

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const measure = async (dead: Dead): Promise<Measured> => {
  await using receivers = await openReceivers({ healthy: HEALTHY, hanging: 0, failing: 0, dead: dead.hosts });
  await using nats = await testNats();
  await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
  await provision(log);
  const runs: Prepared[] = [];
  await atOnce(64, range(RUNS), async (n) => {
    const key = runOfHost(n);
    runs.push(await prepareRunning(log, key, receivers.url('healthy', n % HEALTHY, key.run_id)));
  });
  await deferDeliveries(log, receivers, dead);

  await using notifier = await startNotifier(nats.url, receivers, process.env);
  await waitFor(
    'all partitions',
    async () => (await notifier.metric('runledger_notifier_partitions')) === 16,
    {
      withinMs: 120_000,
    },
  );
  const arrived = new Map<string, number>();
  receivers.onAccepted((accepted) => {
    for (const [run, at] of accepted) arrived.set(run, at);
  });
  const ended = new Map<string, number>();
  const ending: Promise<unknown>[] = [];
  const began = nowMs();
  for (const [n, run] of runs.entries()) {
    await pause(Math.max(began + (n / RUNS_PER_SECOND) * 1_000 - nowMs(), 0));
    ended.set(run.key.run_id, nowMs());
    ending.push(end(log, run));
  }
  await Promise.all(ending);
  await waitFor('every notification', () => arrived.size >= RUNS, { withinMs: 120_000 });
  return {
    lags: [...ended].map(([run, at]) => (arrived.get(run) ?? Number.NaN) - at),
    ...memory(notifier.pid),
    deferred: await notifier.metric('runledger_notifier_deferred'),
  };
};

process.stdout.write(
  'dead hosts deferred   lag p50   lag p99    longest    memory      peak\n' +
    '                           ms        ms         ms        MB        MB\n',
);
const cell = (value: number, width: number): string => value.toFixed(0).padStart(width);
for (const dead of SCENARIOS.filter(({ hosts }) => ONLY === undefined || hosts === Number(ONLY))) {
  const { lags, rss, peak, deferred } = await measure(dead);
  process.stdout.write(
    `${cell(dead.hosts, 10)}${cell(deferred, 9)}${cell(quantile(lags, 0.5), 10)}${cell(quantile(lags, 0.99), 10)}` +
      `${cell(quantile(lags, 1), 11)}${cell(rss, 10)}${cell(peak, 10)}\n`,
  );
}
process.stdout.write(
  `Lag: from the append of a run's last fact until the receiver has the notification, ${RUNS_PER_SECOND} runs a second.\n` +
    'Goals: at most 250 ms in 99 of 100, and 300 MB.\n',
);
