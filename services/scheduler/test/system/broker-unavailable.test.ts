import { CALL_WITHIN_MS } from '@runledger/event-log/connect/broker-call';
import { createMetrics } from '@runledger/service-kit/metrics';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestSchedulerOnOwnBroker } from '../fixtures/scheduler-test-bed.ts';
import { PERIOD_MS } from '../fixtures/fake-executor.ts';
import { openScheduler } from '../../src/scheduler.ts';

const SETTINGS = {
  instance: 'scheduler-1',
  heartbeatPeriodMs: PERIOD_MS,
  shareOf: () => ({ weight: 1, limit: Infinity }),
  cancelEnforceMs: 1_000,
  snapshotEveryMs: 3_600_000,
  snapshotEveryEvents: 1_000_000,
};

describe('a scheduler whose broker stops to respond while it starts', () => {
  it('waits for it, however long, and assigns', { timeout: 120_000 }, async () => {
    await using bed = await openTestSchedulerOnOwnBroker();
    const [executor, key] = [await bed.executor('box'), await bed.queue()];
    await bed.nats.pause();
    const stopping = new AbortController();
    const opening = openScheduler(bed.log, SETTINGS, createMetrics('scheduler'), stopping.signal);
    const outcome = opening.then(
      () => 'started',
      () => 'failed',
    );
    const later = performance.now() + CALL_WITHIN_MS * 1.5;
    await waitFor('requests to be given up', () => performance.now() > later, {
      withinMs: CALL_WITHIN_MS * 2,
    });
    bed.nats.resume();
    expect(await outcome).toBe('started');
    await using scheduler = await opening;
    await executor.assigned(key);
    expect(scheduler.leading()).toBe(true);
  });
});
