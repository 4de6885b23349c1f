import { acquireLease, LEASE_TTL_MS } from '@runledger/coordination/lease';
import { requestPools } from '@runledger/request-reply/pools';
import { requestQueuePositions } from '@runledger/request-reply/queue-positions';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestScheduler } from './fixtures/scheduler-test-bed.ts';

const RESPONSE_WITHIN_MS = 5_000;

describe('a scheduler on a log', () => {
  it('responds with queue positions and queues', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    const keys = [await bed.queue(), await bed.queue(), await bed.queue()];
    const other = await bed.queue({ gpu: 'H100' });
    const positions = (): ReturnType<typeof requestQueuePositions> =>
      requestQueuePositions(bed.log, [...keys, other], RESPONSE_WITHIN_MS);
    await waitFor('all runs to be known', async () => (await positions())?.every((position) => position));
    expect(await positions()).toEqual([
      { ahead: 0, capacity: 'no_gpu' },
      { ahead: 1, capacity: 'no_gpu' },
      { ahead: 2, capacity: 'no_gpu' },
      { ahead: 0, capacity: 'no_gpu' },
    ]);
    const pools = await requestPools(
      bed.log,
      { org_id: null, gpu: null, after: null, limit: 10 },
      RESPONSE_WITHIN_MS,
    );
    expect(pools).toMatchObject({
      pools: [
        { gpu: 'A10G', slots: 0, waiting: 3 },
        { gpu: 'H100', waiting: 1 },
      ],
      more: false,
    });
    const executor = await bed.executor('box');
    const [first] = keys;
    if (first) await executor.assigned(first);
    await waitFor('the first to wait no more', async () => (await positions())?.[0] === undefined);
    expect(await positions()).toEqual([
      undefined,
      { ahead: 0, capacity: 'busy' },
      { ahead: 1, capacity: 'busy' },
      { ahead: 0, capacity: 'no_gpu' },
    ]);
  });

  it('responds with queue positions only while it leads', async () => {
    await using bed = await openTestScheduler();
    const stop = new AbortController();
    const lease = await acquireLease(
      bed.log,
      { name: 'scheduler', holder: 'another', ttlMs: LEASE_TTL_MS },
      stop.signal,
    );
    const one = await bed.schedule();
    const key = await bed.queue();
    const position = async (): Promise<unknown> =>
      (await requestQueuePositions(bed.log, [key], RESPONSE_WITHIN_MS))?.[0];
    await waitFor('the run to be known', () => one.runs().length === 1);
    expect(await position()).toBeUndefined();
    await lease.release();
    await waitFor('the first to respond', position);

    const two = await bed.schedule();
    await waitFor('the run to be known to the second', () => two.runs().length === 1);
    await one[Symbol.asyncDispose]();
    expect(await waitFor('the second to respond', position)).toEqual({ ahead: 0, capacity: 'no_gpu' });
    await waitFor('the second to lead', () => two.leading());
  });
});
