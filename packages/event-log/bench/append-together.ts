/**
 * Compares the rate of appends that are in flight together with that of the same appends sent one by one, in alternating rounds on the
 * same machine. Ends with the ratio for each number in flight. Its own broker, with every message flushed:
 * `node scripts/run.mjs packages/event-log/bench/append-together.ts [messages] [rounds]`
 */
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { aRun, queued } from '@runledger/testing/run-events';
import { quantile } from '@runledger/testing/measuring';
import { testNats } from '@runledger/testing/servers/nats';
import { openEventLog } from '../src/connect/event-log.ts';
import { silentLogger } from '../src/connect/observability.ts';
import { publishTogether, type FencedPublication } from '../src/append/group-commit.ts';
import { publish } from '../src/append/publish.ts';
import { provision } from '../src/provision/provision.ts';

const MESSAGES = Number(process.argv[2] ?? 2_000);
const ROUNDS = Number(process.argv[3] ?? 5);
const IN_FLIGHT = [1, 16, 32, 64, 128, 256];

await using nats = await testNats();
await using log = await openEventLog({ url: nats.url, name: 'bench' }, silentLogger);
await provision(log);

const utf8 = new TextEncoder();
const message = (): FencedPublication => {
  const key = aRun();
  const event = queued(key);
  const filter = RUN_CHAIN.filterOf(key);
  const data = utf8.encode(JSON.stringify(event));
  return {
    stream: 'RUNS',
    subject: RUN_CHAIN.subjectOf(event),
    data,
    id: event.event_id,
    fence: { filter, sequence: 0 },
  };
};

/** Messages a second. */
const measure = async (inFlight: number, send: typeof publishTogether): Promise<number> => {
  let left = MESSAGES;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await send(log, message());
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (MESSAGES / (performance.now() - began)) * 1_000;
};

for (const inFlight of IN_FLIGHT) {
  const ratios: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const [singly, together] = [await measure(inFlight, publish), await measure(inFlight, publishTogether)];
    ratios.push(together / singly);
    process.stdout.write(
      `${inFlight} in flight: together ${together.toFixed(0)}/s, singly ${singly.toFixed(0)}/s\n`,
    );
  }
  process.stdout.write(
    `${inFlight} in flight: together / singly, median: ${quantile(ratios, 0.5).toFixed(2)}\n`,
  );
}
