/**
 * Compares the rate of our appends with that of plain publishes to the same stream, in alternating rounds on the same
 * machine. Ends with the ratio. Its own broker, with every message flushed:
 * `node scripts/run.mjs packages/event-log/bench/append.ts [messages] [rounds]`
 */
import { testNats } from '@runledger/testing/servers/nats';
import { newUuid } from '@runledger/contracts/ids';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { append } from '../src/append/append.ts';
import { openEventLog } from '../src/connect/event-log.ts';
import { silentLogger } from '../src/connect/observability.ts';
import { provision } from '../src/provision/provision.ts';
import { aRun, queued } from '@runledger/testing/run-events';

const MESSAGES = Number(process.argv[2] ?? 4_000);
const AT_ONCE = 64;
const ROUNDS = Number(process.argv[3] ?? 5);

await using nats = await testNats();
await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
await provision(log);

/** Messages a second. */
const measure = async (one: () => Promise<unknown>): Promise<number> => {
  let left = MESSAGES;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await one();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return (MESSAGES / (performance.now() - began)) * 1_000;
};

const ours = (): Promise<unknown> => append(log, queued(aRun()), 0);
const plain = (): Promise<unknown> => {
  const event = queued(aRun());
  return log.js.publish(runEventSubject(event), JSON.stringify(event), { msgID: newUuid() });
};

const ratios: number[] = [];
for (let round = 1; round <= ROUNDS; round += 1) {
  const [plainRate, ourRate] = [await measure(plain), await measure(ours)];
  ratios.push(ourRate / plainRate);
  process.stdout.write(
    `round ${round}: append ${ourRate.toFixed(0)}/s, plain publish ${plainRate.toFixed(0)}/s\n`,
  );
}
const median = ratios.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
process.stdout.write(`append / plain publish, median of ${ROUNDS}: ${median.toFixed(2)}\n`);
