/**
 * How long a read of a run takes while executors that it was not assigned to store messages under it, beside a run that nobody
 * disturbs. Medians of some reads, one after another, in milliseconds.
 * `node scripts/run.mjs packages/event-log/bench/read-behind-strays.ts [reads]`
 */
import { executorId } from '@runledger/contracts/ids';
import { lifecycleFilter, type RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { testNats } from '@runledger/testing/servers/nats';
import { append } from '../src/append/append.ts';
import { openEventLog, type EventLog } from '../src/connect/event-log.ts';
import { silentLogger } from '../src/connect/observability.ts';
import { awaitProvisioned, provision } from '../src/provision/provision.ts';
import { head, readRun } from '../src/read/read-run.ts';

const READS = Number(process.argv[2] ?? 50);
const HOSTILE = executorId('hostile.0a1b2c3d4e5f');

/** Behind each fact a part of them: their number, under how many subjects, and their bytes. */
const ATTACKS = [
  ['nothing', 0, 1, 0],
  ['12 under 3 subjects', 12, 3, 100],
  ['1,000 under one subject', 1_000, 1, 100],
  ['500 under 125 subjects', 500, 125, 100],
  ['500 of 30 KB under 125 subjects', 500, 125, 30_000],
  ['4,000 of 30 KB under 1,000 subjects', 4_000, 1_000, 30_000],
  ['10,000 under 2,500 subjects', 10_000, 2_500, 100],
] as const;

/** The last of each burst are each fenced on the one before. */
const FENCED = 20;

interface Attack {
  readonly messages: number;
  readonly subjects: number;
  readonly bytes: number;
}

const disturb = async (log: EventLog, key: RunKey, { messages, subjects, bytes }: Attack): Promise<void> => {
  if (messages === 0) return;
  const filter = lifecycleFilter(key);
  const publish = (n: number, expect = {}) =>
    log.js.publish(`${filter.slice(0, -1)}started.executor.${n % subjects}.${HOSTILE}`, 'x'.repeat(bytes), {
      expect,
    });
  for (let sent = 0; sent < messages; sent += 250)
    await Promise.all(Array.from({ length: Math.min(250, messages - sent) }, (_, n) => publish(sent + n)));
  for (let n = 0; n < FENCED; n += 1)
    await publish(n, { lastSubjectSequence: await head(log, key), lastSubjectSequenceSubject: filter });
};

await using nats = await testNats();
await using log = await openEventLog({ ...nats.login, url: nats.url, name: 'bench' }, silentLogger);
await provision(log, {});
await awaitProvisioned(log);
for (const [name, messages, subjects, bytes] of ATTACKS) {
  const key = aRun();
  for (const event of [queued(key), assigned(key), started(key), succeeded(key)]) {
    await append(log, event, await head(log, key));
    await disturb(log, key, { messages: Math.ceil(messages / 4), subjects, bytes });
  }
  const times: number[] = [];
  let found = '';
  for (let n = 0; n < READS; n += 1) {
    const began = performance.now();
    const read = await readRun(log, key);
    times.push(performance.now() - began);
    found = read.kind === 'found' ? read.run.status : read.kind;
  }
  const median = times.toSorted((a, b) => a - b)[Math.floor(READS / 2)] ?? 0;
  process.stdout.write(`${name}: ${median.toFixed(2)} ms, ${found}\n`);
}
