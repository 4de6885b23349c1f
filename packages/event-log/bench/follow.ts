/**
 * What a reader of RUNS costs at a rate of messages, here and at the broker: microseconds of processor time for each message, read as
 * it is stored, and with pauses (`pauseMs`). Alternating rounds on the same machine; the broker's part is what it uses more than
 * without a reader. Its own broker, and another process that appends:
 * `node scripts/run.mjs packages/event-log/bench/follow.ts [messages a second] [rounds] [ms of a round]`
 */
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { ALL_LIFECYCLES } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { testNats } from '@runledger/testing/servers/nats';
import { append } from '../src/append/append.ts';
import { openEventLog, type EventLog } from '../src/connect/event-log.ts';
import { silentLogger } from '../src/connect/observability.ts';
import { follow } from '../src/follow/follow.ts';
import { streamState } from '../src/read/leader-read.ts';
import { provision } from '../src/provision/provision.ts';

const RATE = Number(process.argv[2] ?? 1_000);
const ROUNDS = Number(process.argv[3] ?? 3);
const ROUND_MS = Number(process.argv[4] ?? 4_000);
/** Given to the process that appends. */
const BROKER = process.argv[5];
const TURN_MS = 5;
const READERS = [undefined, 0, 5, 20, 50];
const MICROSECONDS_PER_TICK = 10_000;

const appendSteadily = async (url: string): Promise<never> => {
  await using log = await openEventLog({ url, name: 'bench-appends' }, silentLogger);
  for (;;) {
    for (let count = 0; count < (RATE * TURN_MS) / 1_000; count += 1) void append(log, queued(aRun()), 0);
    await pause(TURN_MS);
  }
};

/** Microseconds of processor time of a child of this process. */
const cpuOf = (program: string): number => {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
  const found = children.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith(program));
  const stat = readFileSync(`/proc/${found}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK;
};

interface Cost {
  readonly reader: number;
  readonly broker: number;
}

const measure = async (log: EventLog, pauseMs: number | undefined): Promise<Cost> => {
  await using open = new AsyncDisposableStack();
  const end = async (): Promise<number> => (await streamState(log, 'RUNS')).state.last_seq;
  const [after, brokerBefore, readerBefore] = [await end(), cpuOf('nats-server'), process.cpuUsage()];
  if (pauseMs !== undefined) {
    const options = { stream: 'RUNS', subjects: [ALL_LIFECYCLES], after, pauseMs } as const;
    open.use(await follow(log, { ...options, onBatch: async () => undefined }));
  }
  await pause(ROUND_MS);
  const { user, system } = process.cpuUsage(readerBefore);
  const messages = (await end()) - after;
  return { reader: (user + system) / messages, broker: (cpuOf('nats-server') - brokerBefore) / messages };
};

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const compare = async (): Promise<void> => {
  await using nats = await testNats();
  await using log = await openEventLog({ url: nats.url, name: 'bench-follow' }, silentLogger);
  await provision(log);
  const appends = fork(import.meta.filename, [RATE, ROUNDS, ROUND_MS, nats.url].map(String));
  const costs = READERS.map((): Cost[] => []);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [at, pauseMs] of READERS.entries()) {
      const cost = await measure(log, pauseMs);
      if (round >= 0) costs[at]?.push(cost);
    }
  }
  appends.kill();
  const [without = 0] = costs.map((measured) => medianOf(measured.map(({ broker }) => broker)));
  for (const [at, pauseMs] of READERS.entries()) {
    if (pauseMs === undefined) continue;
    const reader = medianOf((costs[at] ?? []).map((cost) => cost.reader));
    const broker = medianOf((costs[at] ?? []).map((cost) => cost.broker)) - without;
    process.stdout.write(
      `pause ${pauseMs} ms: ${reader.toFixed(1)} µs of the reader and ${broker.toFixed(1)} µs of the broker for each message\n`,
    );
  }
  process.stdout.write(`without a reader the broker needs ${without.toFixed(1)} µs for each message\n`);
};

await (BROKER === undefined ? compare() : appendSteadily(BROKER));
