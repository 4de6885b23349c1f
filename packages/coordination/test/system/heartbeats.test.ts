import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { describe, expect, it } from 'vitest';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { sendHeartbeat, watchHeartbeats } from '../../src/heartbeats.ts';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { aLog, aLogOnOwnBroker } from '@runledger/event-log/test/fixtures/test-log';
import { EXECUTOR, OTHER_EXECUTOR } from '@runledger/testing/run-events';

const aHeartbeat = (executor: string, count: number): Heartbeat => ({
  executor_id: executor,
  count,
  draining: false,
  runs: [],
});

const TTL_MS = 60_000;

describe('heartbeats', () => {
  it('are delivered to a watcher: the last of each executor first, then each new one', async () => {
    await using test = await aLog();
    const { log } = test;
    await sendHeartbeat(log, aHeartbeat(EXECUTOR, 1), TTL_MS);
    await sendHeartbeat(log, aHeartbeat(EXECUTOR, 2), TTL_MS);
    await sendHeartbeat(log, aHeartbeat(OTHER_EXECUTOR, 1), TTL_MS);
    const seen: [string, number][] = [];
    const times: string[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await watchHeartbeats(log, (heartbeat, time) => {
        seen.push([heartbeat.executor_id, heartbeat.count]);
        times.push(time);
      }),
    );
    await expect
      .poll(() => seen, { timeout: 10_000 })
      .toEqual([
        [EXECUTOR, 2],
        [OTHER_EXECUTOR, 1],
      ]);
    await sendHeartbeat(log, aHeartbeat(EXECUTOR, 3), TTL_MS);
    await expect.poll(() => seen.at(-1), { timeout: 10_000 }).toEqual([EXECUTOR, 3]);
    expect(times.every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time))).toBe(true);
    expect(times).toEqual(times.toSorted());
  });

  it('expire after their time to live', async () => {
    await using test = await aLog();
    await sendHeartbeat(test.log, aHeartbeat(EXECUTOR, 1), 1_000);
    const last = () =>
      test.log.jsm.streams.getMessage('KV_EXECUTORS', { last_by_subj: `$KV.EXECUTORS.${EXECUTOR}` });
    expect(await last()).not.toBeNull();
    await expect.poll(last, { timeout: 15_000 }).toBeNull();
  });

  it('are dropped and logged once when they are invalid or of another executor', async () => {
    await using test = await aLog();
    const errors: string[] = [];
    const logger = {
      ...silentLogger,
      error: (_fields: object, message: string) => void errors.push(message),
    };
    const log = { ...test.log, logger };
    const seen: string[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await watchHeartbeats(log, ({ executor_id, count }) => void seen.push(`${executor_id} ${count}`)),
    );
    await log.js.publish(`$KV.EXECUTORS.${EXECUTOR}`, 'no json');
    await log.js.publish(`$KV.EXECUTORS.${EXECUTOR}`, JSON.stringify(aHeartbeat(OTHER_EXECUTOR, 1)));
    await sendHeartbeat(log, aHeartbeat(EXECUTOR, 5), TTL_MS);
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual([`${EXECUTOR} 5`]);
    expect(errors).toEqual(['a heartbeat cannot be read; is its executor of a later release?']);
  });

  it('come again after the broker was killed', async () => {
    await using test = await aLogOnOwnBroker();
    const { log, nats } = test;
    const seen: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(await watchHeartbeats(log, ({ count }) => void seen.push(count)));
    await sendHeartbeat(log, aHeartbeat(EXECUTOR, 1), TTL_MS);
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual([1]);

    await nats.kill9();
    await expect(sendHeartbeat(log, aHeartbeat(EXECUTOR, 2), TTL_MS)).rejects.toBeInstanceOf(LogUnavailable);
    await nats.restart();
    await expect
      .poll(() => sendHeartbeat(log, aHeartbeat(EXECUTOR, 3), TTL_MS).then(() => seen.at(-1)), {
        timeout: 20_000,
      })
      .toBe(3);
  }, 60_000);

  it('survive an orderly restart of the broker', async () => {
    await using test = await aLogOnOwnBroker();
    await sendHeartbeat(test.log, aHeartbeat(EXECUTOR, 7), TTL_MS);
    await test.nats.restart();
    const seen: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(await watchHeartbeats(await test.open(), ({ count }) => void seen.push(count)));
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual([7]);
  });
});
