import { executorId } from '@runledger/contracts/ids';
import { lifecycleFilter } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { beginBatch } from '@runledger/event-log/test/fixtures/stored-together';
import { aRun, queued } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aGuardedBroker, type GuardedBroker } from './a-guarded-broker.ts';

const A = executorId('a.000000000001');
/** A stream may have no more (nats-server 2.15.1). */
const MOST_OPEN = 50;

let broker: GuardedBroker;
let gateway: EventLog;
let executor: EventLog;
beforeAll(async () => {
  broker = await aGuardedBroker();
  gateway = await broker.open('gateway');
  executor = await broker.open('executor-a');
});
afterAll(() => broker[Symbol.asyncDispose]());

/** How many of so many runs that a gateway queues at once are stored in batches. */
const storedInBatches = async (count: number): Promise<number> => {
  const keys = Array.from({ length: count }, aRun);
  const appended = await Promise.all(keys.map((key) => append(gateway, queued(key), 0)));
  expect(appended.every(({ kind }) => kind === 'appended')).toBe(true);
  const stored = await Promise.all(keys.map((key) => lastMessage(gateway, 'RUNS', lifecycleFilter(key))));
  return stored.filter((message) => message?.header.has('Nats-Batch-Id')).length;
};

/** The broker's response to the first message of a batch of an executor. */
const begin = (batch: string, bytes: number): Promise<string> => {
  const { org_id, run_id } = aRun();
  const subject = `runs.${org_id}.${run_id}.life.started.executor.1.${A}`;
  return beginBatch(executor, batch, { subject, bytes });
};

describe('batches of facts', () => {
  it('are permitted to whom single facts are', async () => {
    expect(await storedInBatches(100)).toBeGreaterThan(50);
    expect(broker.refusals).toEqual([]);
  });

  it('cannot have messages that are larger than facts', async () => {
    expect(await begin('large', 40_000)).toContain('message size exceeds maximum');
  });

  it('of an executor that begins as many as it can slow the others down, and stop nobody', async () => {
    const begun = Array.from({ length: MOST_OPEN }, (_, number) => begin(`open-${number}`, 100));
    expect(await Promise.all(begun)).toEqual(begun.map(() => ''));
    expect(await storedInBatches(100)).toBe(0);
  });
});
