import { expect, it } from 'vitest';
import { LogUnavailable } from '../../../src/connect/event-log.ts';
import { writeAtOnce } from '../../fixtures/write-at-once.ts';
import { allStored } from '../../fixtures/stored-together.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';

it('loses no acknowledged append and stores none twice when the broker is killed while it stores batches, eight times', async () => {
  await using test = await aLogOnOwnBroker();
  const { nats } = test;
  const services = [test.log, await test.open()];
  await using writing = writeAtOnce(services, 64);
  for (let kill = 1; kill <= 8; kill += 1) {
    const before = writing.acknowledged.size;
    await expect.poll(() => writing.acknowledged.size, { timeout: 20_000 }).toBeGreaterThan(before + 300);
    await nats.kill9();
    await nats.restart();
  }
  await writing.stop();
  for (const error of writing.errors) expect(error).toBeInstanceOf(LogUnavailable);

  const all = await allStored(test.log);
  expect(new Set(all.map(({ event }) => event)).size).toBe(all.length);
  const stored = new Map(all.map(({ event, sequence }) => [event, sequence]));
  for (const [event, sequence] of writing.acknowledged) expect(stored.get(event)).toBe(sequence);
  // After a batch without an outcome, appends go one by one for a second.
  expect(all.filter(({ batch }) => batch !== '').length).toBeGreaterThan(100);
}, 120_000);
