import { executorId } from '@runledger/contracts/ids';
import { aRun } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { sendHeartbeat, lastHeartbeat } from '../src/heartbeats.ts';
import { aLog, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

/** Permissions cannot refuse these headers: they are on a message under an allowed subject. */

const A = executorId('a.000000000001');
const B = executorId('b.000000000001');
const key = aRun();
const OWN_FACT = `runs.${key.org_id}.${key.run_id}.life.started.executor.1.${A}`;

let broker: TestLog;
let executor: EventLog;
beforeAll(async () => {
  broker = await aLog();
  executor = broker.log;
  await executor.js.publish(OWN_FACT, '');
});
afterAll(() => broker[Symbol.asyncDispose]());

const lastOfRuns = async (): Promise<readonly number[]> => {
  const { state } = await broker.log.jsm.streams.info('RUNS');
  return [state.first_seq, state.last_seq, state.messages];
};

describe('a roll-up', () => {
  it.each(['all', 'sub'])('of kind %s is refused by RUNS', async (what) => {
    const rollUp = headers();
    rollUp.set('Nats-Rollup', what);
    const before = await lastOfRuns();
    await expect(executor.js.publish(OWN_FACT, '{}', { headers: rollUp })).rejects.toThrow(/rollup/);
    expect(await lastOfRuns()).toEqual(before);
  });

  it.each(['all', 'sub'])('of kind %s removes no heartbeat', async (what) => {
    const scheduler = await broker.open();
    const other = await broker.open();
    await sendHeartbeat(other, { executor_id: B, count: 1, draining: false, runs: [] }, 10_000);
    const rollUp = headers();
    rollUp.set('Nats-Rollup', what);
    for (const subject of [`$KV.EXECUTORS.${A}`, `$KV.EXECUTORS.${B}`]) {
      await expect(executor.js.publish(subject, '{}', { headers: rollUp })).rejects.toThrow(/rollup/);
    }
    await expect(executor.jsm.streams.purge('KV_EXECUTORS')).rejects.toThrow(/purge/);
    expect(await lastHeartbeat(scheduler, B)).toMatchObject({ heartbeat: { count: 1 } });
  });
});

describe('an expired heartbeat', () => {
  it('is gone, and leaves nothing in the bucket', async () => {
    const log = await broker.open();
    const gone = executorId('c.000000000001');
    await sendHeartbeat(log, { executor_id: gone, count: 1, draining: false, runs: [] }, 1_000);
    const subject = `$KV.EXECUTORS.${gone}`;
    const left = async () => (await log.jsm.streams.info('KV_EXECUTORS', { subjects_filter: subject })).state;
    await waitFor('it to expire', async () => (await left()).subjects === undefined);
    expect(await lastHeartbeat(log, gone)).toBeUndefined();
  });
});

describe('a schedule', () => {
  it.each([
    'runs.o.r.life.queued.gateway.0.none',
    '$KV.KEYS.forged',
    `fleet.${B}.left`,
    '$JS.API.STREAM.DELETE.RUNS',
  ])('of the notifier cannot target %s', async (target) => {
    const notifier = await broker.open();
    const schedule = { specification: new Date(Date.now() + 1), target };
    await expect(notifier.js.publish('timers.1.o.o.r.wait', '{}', { schedule })).rejects.toThrow(/schedule/);
  });

  it('is refused by RUNS', async () => {
    const schedule = { specification: new Date(Date.now() + 1), target: OWN_FACT };
    await expect(executor.js.publish(OWN_FACT, '{}', { schedule })).rejects.toThrow(/schedule/);
  });
});
