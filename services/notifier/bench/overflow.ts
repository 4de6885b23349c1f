/**
 * One organisation's receivers fail, and many deliveries wait for them, more than TIMERS has room for if it is small: what that costs
 * healthy receivers and the notifier, what a restart costs, and how long it takes until all is delivered when the receivers recover.
 * `node scripts/run.mjs services/notifier/bench/overflow.ts [deliveries] [MiB of TIMERS] [seconds of a phase] [healthy a second] [ends a second]`
 */
import { setTimeout as pause } from 'node:timers/promises';
import { newUuid } from '@runledger/contracts/ids';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testNats } from '@runledger/testing/servers/nats';
import { aRun, queued, timedOut } from '@runledger/testing/run-events';
import { atOnce, quantile, range } from './at-once.ts';
import { startNotifier } from './notifier-process.ts';
import { childNamed, cpuSeconds, memory } from './process-usage.ts';
import { openReceivers } from './receivers.ts';
import { appendAll } from './runs.ts';
import { nowMs, openSteadyStream } from './steady-stream.ts';

const DELIVERIES = Number(process.argv[2] ?? 100_000);
const TIMERS_MIB = Number(process.argv[3] ?? 512);
const HEALTHY = 20;
const FAILING = 10;
const HEALTHY_PER_SECOND = Number(process.argv[5] ?? 50);
/** Of the failing receivers, and as many of nobody's before. */
const ENDS_PER_SECOND = Number(process.argv[6] ?? 500);
const PHASE_MS = Number(process.argv[4] ?? 30) * 1_000;
/** Without an accepted notification for so long, the others count as lost: longer than a breaker stays open. */
const LOST_AFTER_MS = 1_000_000;
const COLUMNS = [
  's',
  'p50 ms',
  'p99',
  'max',
  'of p99',
  'CPU %',
  'broker %',
  'MB',
  'peak',
  'TIMERS MB',
  'left',
];

await using receivers = await openReceivers({ healthy: HEALTHY, hanging: 0, failing: FAILING, dead: 0 });
await using nats = await testNats();
const broker = childNamed('nats-server');
await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
await provision(log, { timersMaxBytes: TIMERS_MIB * 1024 ** 2 });
let notifier = await startNotifier(nats.url, receivers, process.env);
const healthy = openSteadyStream(log, receivers, { hosts: HEALTHY, perSecond: HEALTHY_PER_SECOND });

/** Of the failing receivers: the runs that they have not accepted yet, and when they accepted the last one. */
const waiting = new Set<string>();
const accepted = { first: 0, last: 0, count: 0 };
receivers.onAccepted((all) => {
  for (const [run, at] of all) {
    healthy.arrived(run, at);
    if (!waiting.delete(run)) continue;
    if (accepted.count === 0) accepted.first = at;
    accepted.count += 1;
    accepted.last = at;
  }
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const row = (name: string, cells: readonly string[]): void =>
  say(`${name.padEnd(26)}${cells.map((cell, n) => cell.padStart((COLUMNS[n]?.length ?? 0) + 3)).join('')}`);
let base: number | undefined;

/** Measures what the healthy receivers and the notifier experience during the work. */
const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
  const pid = notifier.pid;
  const before = { at: nowMs(), notifier: cpuSeconds(pid), broker: cpuSeconds(broker) };
  await work();
  const lags = await healthy.lags();
  const seconds = (nowMs() - before.at) / 1_000;
  const isSame = pid === notifier.pid;
  const used = cpuSeconds(notifier.pid) - (isSame ? before.notifier : 0);
  const { rss, peak } = memory(notifier.pid);
  const { state } = await log.jsm.streams.info('TIMERS');
  const p99 = quantile(lags, 0.99);
  base ??= p99;
  const left = await notifier.metric('runledger_notifier_left_in_log');
  row(name, [
    seconds.toFixed(0),
    ...[0.5, 0.99, 1].map((part) => quantile(lags, part).toFixed(0)),
    (p99 / base).toFixed(1),
    ((100 * used) / seconds).toFixed(0),
    ((100 * (cpuSeconds(broker) - before.broker)) / seconds).toFixed(0),
    rss.toFixed(0),
    peak.toFixed(0),
    (state.bytes / 1e6).toFixed(1),
    String(left),
  ]);
};

/** Ends runs at a steady rate, for the failing receivers or for nobody. */
const endRuns = async (count: number, isWaiting: boolean): Promise<void> => {
  const org = newUuid();
  const began = nowMs();
  await atOnce(256, range(count), async (n) => {
    await pause(Math.max(began + (n / ENDS_PER_SECOND) * 1_000 - nowMs(), 0));
    const key = aRun(org);
    if (isWaiting) waiting.add(key.run_id);
    const webhook = isWaiting ? receivers.url('failing', n % FAILING, key.run_id) : null;
    await appendAll(log, [queued(key, { webhook }), timedOut(key, 'start_deadline')]);
  });
};

const untilAccepted = async (): Promise<void> => {
  const isUnderWay = (): boolean =>
    waiting.size > 0 && nowMs() - Math.max(accepted.last, recovered) < LOST_AFTER_MS;
  while (isUnderWay()) await pause(100);
};

say(`${DELIVERIES} deliveries, TIMERS of ${TIMERS_MIB} MiB`);
row('', COLUMNS);
// The first notifications find nothing compiled and no connection.
await pause(5_000);
await healthy.lags();
await measure('no failing receiver', () => endRuns((PHASE_MS / 1_000) * ENDS_PER_SECOND, false));
await measure('deliveries begin to wait', () => endRuns(DELIVERIES, true));
await measure('all wait', () => pause(4 * PHASE_MS));
let restarted = 0;
await measure('killed and started again', async () => {
  const since = nowMs();
  await notifier.kill9();
  notifier = await startNotifier(nats.url, receivers, process.env);
  await healthy.lags();
  restarted = nowMs() - since;
  await pause(PHASE_MS);
});
say(`the first notifications after the kill: ${(restarted / 1_000).toFixed(1)} s`);
const recovered = nowMs();
receivers.recover();
await measure('receivers have recovered', untilAccepted);
say(
  `${accepted.count} of ${DELIVERIES} delivered: the first ${((accepted.first - recovered) / 1_000).toFixed(0)} s after the recovery, ` +
    `all ${((accepted.last - accepted.first) / 1_000).toFixed(0)} s later`,
);
say(`reconciled: ${await notifier.metric('runledger_notifier_reconciled_total')}`);
await measure('everything is delivered', () => pause(PHASE_MS));
await healthy.stop();
await notifier[Symbol.asyncDispose]();
