import { describe, expect, it } from 'vitest';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { waitFor } from '@runledger/testing/wait-for';
import { PERIOD_MS } from '../fixtures/fake-executor.ts';
import { openTestSchedulerOnOwnBroker, type SchedulerTestBed } from '../fixtures/scheduler-test-bed.ts';

const ended = (bed: SchedulerTestBed, key: RunKey) =>
  waitFor('the run to end', async () => {
    const run = await bed.run(key);
    return 'ended_at' in run ? run : undefined;
  });

describe('a scheduler on a log', () => {
  it('assigns every run once when the broker is killed meanwhile', async () => {
    await using bed = await openTestSchedulerOnOwnBroker();
    await bed.schedule();
    const executor = await bed.executor('box', 40);
    const keys = await Promise.all(Array.from({ length: 40 }, () => bed.queue()));
    await bed.nats.kill9();
    await bed.nats.restart();
    for (const key of keys) {
      await executor.assigned(key);
      expect(await bed.events(key)).toEqual(['RunQueued', 'RunAssigned']);
    }
    const slots = await Promise.all(keys.map(async (key) => (await executor.assigned(key)).data.slot));
    expect(new Set(slots).size).toBe(40);
  });

  it('requeues no healthy run when the broker is unavailable for three heartbeat periods', async () => {
    await using bed = await openTestSchedulerOnOwnBroker();
    const scheduler = await bed.schedule();
    const executor = await bed.executor('box', 3);
    const keys = [await bed.queue(), await bed.queue(), await bed.queue()];
    for (const key of keys) {
      await executor.assigned(key);
      await executor.append(key, 'RunStarted', { cold_start_s: 0 });
    }
    await bed.nats.kill9();
    const back = performance.now() + 3 * PERIOD_MS;
    await waitFor('three heartbeat periods to pass', () => performance.now() > back);
    await bed.nats.restart();
    await waitFor('the scheduler to lead again', () => scheduler.leading());
    // It decides again, and a period and more has passed, when a run that came later is timed out.
    const later = await bed.queue({ start_deadline_s: (2 * PERIOD_MS) / 1_000 });
    expect(await ended(bed, later)).toMatchObject({ end_reason: 'start_deadline' });
    for (const key of keys) {
      expect(await bed.events(key)).toEqual(['RunQueued', 'RunAssigned', 'RunStarted']);
      expect(await executor.append(key, 'RunSucceeded', { outputs: [], outputs_blob: null })).toMatchObject({
        kind: 'appended',
      });
    }
    expect(await scheduler.metrics.metrics()).toMatch(/runledger_scheduler_executors_lost_total\{.*\} 0/);
  });
});
