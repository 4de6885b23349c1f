import { executorId, newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendHeartbeat, lastHeartbeat, watchHeartbeats } from '../src/heartbeats.ts';
import { aLog, type TestLog } from '@runledger/event-log/test/fixtures/test-log';

/** Every executor may write to the bucket, and one of them can fill it. */

const A = executorId('a.000000000001');
const B = executorId('b.000000000001');
const MiB = 1024 ** 2;

let broker: TestLog;
beforeAll(async () => {
  broker = await aLog();
});
afterAll(() => broker[Symbol.asyncDispose]());

describe('the heartbeats of executors', () => {
  it('are stored and delivered even when one executor has filled the bucket', async () => {
    const { log } = broker;
    await log.jsm.streams.update('KV_EXECUTORS', { max_bytes: MiB });
    const received: string[] = [];
    await using open = new AsyncDisposableStack();
    open.use(await watchHeartbeats(log, ({ executor_id }) => received.push(executor_id)));
    for (let key = 0; key < 20; key += 1)
      await log.js.publish(`$KV.EXECUTORS.a.x${key}`, new Uint8Array(100 * 1024));
    await sendHeartbeat(log, { executor_id: B, count: 1, draining: false, runs: [] }, 60_000);
    await waitFor('the heartbeat to be delivered', () => received.includes(B));
    expect((await log.jsm.streams.info('KV_EXECUTORS')).state.messages).toBeLessThan(20);
  });

  it('are stored with a run in every slot that an executor may have, and no larger', async () => {
    const { log } = broker;
    const runs = Array.from({ length: 1_024 }, (_, slot) => ({ slot, run_id: newUuid(), attempt: 100 }));
    await sendHeartbeat(
      log,
      { executor_id: A, count: Number.MAX_SAFE_INTEGER, draining: false, runs },
      60_000,
    );
    expect((await lastHeartbeat(log, A))?.heartbeat.runs).toHaveLength(1_024);
    await expect(log.js.publish(`$KV.EXECUTORS.${A}`, new Uint8Array(129 * 1024))).rejects.toThrow(
      'message size exceeds maximum allowed',
    );
  });
});
