import { expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import { LogUnavailable } from '../../../src/connect/event-log.ts';
import { readRun } from '../../../src/read/read-run.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';
import { aRun, assigned, queued, started } from '@runledger/testing/run-events';

it('loses no acknowledged message when the broker is killed under load, three times', async () => {
  await using test = await aLogOnOwnBroker();
  const { log, nats } = test;
  const acknowledged: { key: ReturnType<typeof aRun>; facts: number; sequence: number }[] = [];
  const stop = new AbortController();

  const write = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const key = aRun();
      let sequence = 0;
      let facts = 0;
      for (const event of [queued(key), assigned(key), started(key)]) {
        try {
          const result = await append(log, event, sequence);
          if (result.kind === 'conflict')
            throw new Error(`${event.type} met ${result.head}: nobody else writes`);
          sequence = result.sequence;
          facts += 1;
        } catch (error) {
          if (!(error instanceof LogUnavailable)) throw error;
          break;
        }
      }
      if (facts > 0) acknowledged.push({ key, facts, sequence });
    }
  };
  const writers = Array.from({ length: 8 }, write);
  for (let kill = 1; kill <= 3; kill += 1) {
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(before + 20);
    await nats.kill9();
    await nats.restart();
  }
  stop.abort();
  await Promise.all(writers);

  expect(acknowledged.length).toBeGreaterThan(60);
  for (const { key, facts, sequence } of acknowledged) {
    const read = await readRun(log, key, { atLeast: sequence });
    if (read.kind !== 'found') throw new Error(`an acknowledged run is ${read.kind}`);
    expect(read.facts.length).toBeGreaterThanOrEqual(facts);
    expect(new Set(read.facts.map(({ event }) => event.event_id)).size).toBe(read.facts.length);
  }
}, 90_000);

it('reports that the broker is unavailable, after its deadline', async () => {
  await using test = await aLogOnOwnBroker();
  await test.nats.kill9();
  await expect(append(test.log, queued(aRun()), 0)).rejects.toBeInstanceOf(LogUnavailable);
});
