/**
 * How long `runledger cluster migrate` takes from one broker to three on this machine, by its steps, and how much memory it needs.
 * Half of the bytes are output files, half are messages of 1 KiB.
 * `node scripts/run.mjs packages/event-log/bench/migrate.ts [megabytes]`
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { testNats } from '@runledger/testing/servers/nats';
import { testNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { openEventLog, type EventLog } from '../src/connect/event-log.ts';
import { silentLogger } from '../src/connect/observability.ts';
import { provision } from '../src/provision/provision.ts';

const MEGABYTES = Number(process.argv[2] ?? 2_048);
const MB = 1_000_000;
const FILE_BYTES = 128 * 1024;
const MESSAGE_BYTES = 1024;
const AT_ONCE = 64;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seconds = (from: number): number => (performance.now() - from) / 1_000;

const fill = async (log: EventLog, subject: string, bytes: number, each: number): Promise<void> => {
  for (let at = 0; at < bytes; at += AT_ONCE * each) {
    const messages = Array.from({ length: AT_ONCE }, (_, n) =>
      log.js.publish(`${subject}${at}.${n}`, randomBytes(each), { timeout: 60_000 }),
    );
    await Promise.all(messages);
  }
};

/** The seconds of each step, and what the command says of its memory. */
const move = async (source: string, target: string): Promise<string> => {
  const main = fileURLToPath(new URL('../test/fixtures/migrating-process.ts', import.meta.url));
  const child = spawn(process.execPath, [main, source, target], { stdio: ['ignore', 'pipe', 'inherit'] });
  const spent = new Map<string, number>();
  let [step, since, last] = ['starting', performance.now(), ''];
  for await (const line of createInterface({ input: child.stdout })) {
    spent.set(step, (spent.get(step) ?? 0) + seconds(since));
    [step, since, last] = [line.replace(/ \S+$/, ''), performance.now(), line];
  }
  return [...[...spent].map(([name, took]) => `${name}: ${took.toFixed(1)} s`), last].join('\n');
};

await using source = await testNats();
await using target = await testNatsCluster();
await using log = await openEventLog({ url: source.url, name: 'bench' }, silentLogger);
const room = (MEGABYTES + 100) * MB;
await provision(log, { runsMaxBytes: room, outputsMaxBytes: room });
await fill(log, '$O.OUTPUTS.C.', (MEGABYTES * MB) / 2, FILE_BYTES);
await fill(log, 'runs.a.', (MEGABYTES * MB) / 2, MESSAGE_BYTES);
const began = performance.now();
const steps = await move(source.url, target.url);
const took = seconds(began);
say(`${MEGABYTES} MB in ${took.toFixed(1)} s, ${(MEGABYTES / took).toFixed(0)} MB/s\n${steps}`);
