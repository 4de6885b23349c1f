/**
 * How many notifications a second one notifier process brings to healthy receivers, with 1, 100 and 2,000 hosts, and beside
 * hosts that hang. `node scripts/run.mjs services/notifier/bench/throughput.ts [notifications each] [rounds] [scenarios]`
 */
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testNats } from '@runledger/testing/servers/nats';
import { allowance, atOnce, quantile, range } from './at-once.ts';
import { startNotifier } from './notifier-process.ts';
import { childNamed, cpuSeconds } from './process-usage.ts';
import { openReceivers } from './receivers.ts';
import { end, prepareRunning, runOfHost, type Prepared } from './runs.ts';

const NOTIFICATIONS = Number(process.argv[2] ?? 10_000);
const ROUNDS = Number(process.argv[3] ?? 3);
/** Only those whose name has this in it. */
const ONLY = process.argv[4] ?? '';
/** Ended and not yet accepted: as many as keep the notifier busy, and fewer than it sets aside. */
const OUTSTANDING = 1_000;

interface Scenario {
  readonly name: string;
  readonly healthy: number;
  readonly hanging: number;
  /** All runs have ended before the notifier starts, as after a stop of the notifier. */
  readonly isBacklog: boolean;
}

const SCENARIOS: readonly Scenario[] = [
  { name: '1 host', healthy: 1, hanging: 0, isBacklog: false },
  { name: '100 hosts', healthy: 100, hanging: 0, isBacklog: false },
  { name: '90 hosts, 10 hang', healthy: 90, hanging: 10, isBacklog: false },
  { name: '2,000 hosts', healthy: 2_000, hanging: 0, isBacklog: false },
  { name: '1,800 hosts, 200 hang', healthy: 1_800, hanging: 200, isBacklog: false },
  { name: '100 hosts, backlog', healthy: 100, hanging: 0, isBacklog: true },
];

interface Measured {
  /** Accepted notifications a second. */
  readonly rate: number;
  /** Milliseconds of processor time for each. */
  readonly notifier: number;
  readonly broker: number;
}

const measure = async ({ healthy, hanging, isBacklog }: Scenario): Promise<Measured> => {
  await using receivers = await openReceivers({ healthy, hanging, failing: 0, dead: 0 });
  await using nats = await testNats();
  const broker = childNamed('nats-server');
  await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
  await provision(log);

  const hosts = healthy + hanging;
  const isHanging = (n: number): boolean => n % hosts >= healthy;
  const runs = range(NOTIFICATIONS).map((n) => runOfHost(n % hosts));
  const prepared = new Map<string, Prepared>();
  await atOnce(256, runs.entries(), async ([n, key]) => {
    const url = isHanging(n)
      ? receivers.url('hanging', (n % hosts) - healthy, key.run_id)
      : receivers.url('healthy', n % hosts, key.run_id);
    const run = await prepareRunning(log, key, url);
    if (isBacklog) await end(log, run);
    prepared.set(key.run_id, run);
  });

  const expected = runs.filter((_, n) => !isHanging(n)).length;
  const [first, last] = [Math.floor(expected * 0.2), Math.floor(expected * 0.9)];
  const marks: { readonly at: number; readonly notifier: number; readonly broker: number }[] = [];
  const accepted = new Set<string>();
  const over = Promise.withResolvers<void>();
  const outstanding = allowance(OUTSTANDING);
  let pid = 0;
  const mark = (): void =>
    void marks.push({ at: performance.now(), notifier: cpuSeconds(pid), broker: cpuSeconds(broker) });
  receivers.onAccepted((notifications) => {
    for (const [run] of notifications) {
      if (accepted.has(run)) continue;
      accepted.add(run);
      outstanding.giveBack();
      if (accepted.size === first || accepted.size === last) mark();
    }
    if (accepted.size === expected) over.resolve();
  });

  await using notifier = await startNotifier(nats.url, receivers, process.env);
  pid = notifier.pid;
  if (!isBacklog) {
    await atOnce(128, runs.entries(), async ([n, { run_id }]) => {
      const run = prepared.get(run_id);
      if (!isHanging(n)) await outstanding.take();
      if (run) await end(log, run);
    });
  }
  await over.promise;
  const [from, to] = marks;
  if (!from || !to) throw new Error('too few notifications to measure');
  const each = (seconds: number): number => (seconds * 1_000) / (last - first);
  return {
    rate: ((last - first) / (to.at - from.at)) * 1_000,
    notifier: each(to.notifier - from.notifier),
    broker: each(to.broker - from.broker),
  };
};

const chosen = SCENARIOS.filter(({ name }) => name.includes(ONLY));
const results = new Map(chosen.map((scenario): [Scenario, Measured[]] => [scenario, []]));
for (const round of range(ROUNDS)) {
  for (const [scenario, all] of results) {
    const measured = await measure(scenario);
    all.push(measured);
    process.stdout.write(
      `round ${round + 1}: ${scenario.name.padEnd(22)} ${measured.rate.toFixed(0).padStart(5)}/s, ` +
        `notifier ${measured.notifier.toFixed(2)} ms, broker ${measured.broker.toFixed(2)} ms each\n`,
    );
  }
}
const median = (scenario: Scenario, of: keyof Measured): number =>
  quantile(
    (results.get(scenario) ?? []).map((measured) => measured[of]),
    0.5,
  );
for (const scenario of chosen) {
  process.stdout.write(`${scenario.name.padEnd(22)} ${median(scenario, 'rate').toFixed(0)}/s\n`);
}
