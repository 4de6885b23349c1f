/**
 * One organisation has more deliveries waiting than TIMERS has room for: what that costs the others, and how long it takes until all of
 * them are delivered when its receiver recovers.
 * `node scripts/run.mjs services/notifier/bench/left-in-log.ts [deliveries] [MiB of TIMERS] [runs]`
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { provision } from '@runledger/event-log/provision/provision';
import { testNats } from '@runledger/testing/servers/nats';
import { queued, timedOut } from '@runledger/testing/events/run-events';
import { atOnce, quantile, range } from './at-once.ts';
import { startNotifier } from './notifier-process.ts';
import { cpuSeconds, memory } from './process-usage.ts';
import { openReceivers } from './receivers.ts';
import { appendAll, end, prepareRunning, runOfHost } from './runs.ts';

const DELIVERIES = Number(process.argv[2] ?? 100_000);
const TIMERS_MIB = Number(process.argv[3] ?? 8);
const HEALTHY = 19;
const RUNS = Number(process.argv[4] ?? 2_000);
const RUNS_PER_SECOND = 50;
/** Without an accepted notification for so long, the others count as lost. */
const LOST_AFTER_MS = 180_000;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

await using receivers = await openReceivers({ healthy: HEALTHY, hanging: 0, failing: 1, dead: 0 });
await using nats = await testNats();
await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
await provision(log, { timersMaxBytes: TIMERS_MIB * 1024 ** 2 });
const healthy = await Promise.all(
  range(RUNS).map(async (n) => {
    // The organisation of host 0 has the failing receiver.
    const key = runOfHost((n % HEALTHY) + 1);
    return prepareRunning(log, key, receivers.url('healthy', n % HEALTHY, key.run_id));
  }),
);
await using notifier = await startNotifier(nats.url, receivers, process.env);
const failing = new Set<string>();
const appending = nowMs();
await atOnce(256, range(DELIVERIES), async () => {
  const key = runOfHost(0);
  failing.add(key.run_id);
  const webhook = receivers.url('failing', 0, key.run_id);
  await appendAll(log, [queued(key, { webhook }), timedOut(key, 'start_deadline')]);
});

say(`${DELIVERIES} runs ended in ${((nowMs() - appending) / 1_000).toFixed(0)} s`);
while ((await notifier.metric('runledger_notifier_waiting')) > 0) await pause(500);
await pause(10_000);

const arrived = new Map<string, number>();
/** Of the failing receiver: how many it accepted, and when the last one. */
const progress = { delivered: 0, at: nowMs() };
receivers.onAccepted((accepted) => {
  for (const [run, at] of accepted) {
    if (failing.has(run) && !arrived.has(run)) progress.delivered += 1;
    arrived.set(run, at);
  }
  progress.at = nowMs();
});
const ended = new Map<string, number>();
const began = nowMs();
for (const [n, run] of healthy.entries()) {
  await pause(Math.max(began + (n / RUNS_PER_SECOND) * 1_000 - nowMs(), 0));
  ended.set(run.key.run_id, nowMs());
  await end(log, run);
}
while ([...ended.keys()].some((run) => !arrived.has(run))) await pause(100);
const lags = [...ended].map(([run, at]) => (arrived.get(run) ?? Number.NaN) - at);
const failed = memory(notifier.pid);
const { state } = await log.jsm.streams.info('TIMERS');
say(
  `failing: healthy receivers p50 ${quantile(lags, 0.5).toFixed(0)} ms, p99 ${quantile(lags, 0.99).toFixed(0)} ms`,
);
say(`failing: memory ${failed.rss.toFixed(0)} MB, peak ${failed.peak.toFixed(0)} MB`);
say(`failing: TIMERS ${state.messages} messages, ${(state.bytes / 1e6).toFixed(1)} MB`);

receivers.recover();
progress.at = nowMs();
const recovered = progress.at;
const used = cpuSeconds(notifier.pid);
const isUnderWay = (): boolean => progress.delivered < DELIVERIES && nowMs() - progress.at < LOST_AFTER_MS;
while (isUnderWay()) await pause(100);
const { rss, peak } = memory(notifier.pid);
say(
  `recovered: ${progress.delivered} of ${DELIVERIES} delivered ${((progress.at - recovered) / 1_000).toFixed(0)} s after the recovery`,
);
say(
  `recovered: memory ${rss.toFixed(0)} MB, peak ${peak.toFixed(0)} MB, processor ${(cpuSeconds(notifier.pid) - used).toFixed(0)} s`,
);
