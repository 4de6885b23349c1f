import { describe, expect, it } from 'vitest';
import { isExecuting } from '@runledger/contracts/fold/run';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { lifecycleFilter, type RunKey } from '@runledger/contracts/events/subjects';
import { reportProgress } from '@runledger/event-log/streams/activity';
import { requestPools } from '@runledger/request-reply/pools';
import { requestWaitReason } from '@runledger/request-reply/wait-reason';
import { waitFor } from '@runledger/testing/wait-for';
import type { FakeExecutor } from './fixtures/fake-executor.ts';
import { openTestScheduler, type SchedulerTestBed } from './fixtures/scheduler-test-bed.ts';

const ended = (bed: SchedulerTestBed, key: RunKey) =>
  waitFor('the run to end', async () => {
    const run = await bed.run(key);
    return 'ended_at' in run ? run : undefined;
  });

const end = async (executor: FakeExecutor, key: RunKey): Promise<void> => {
  await executor.append(key, 'RunStarted', { cold_start_s: 0 });
  await executor.append(key, 'RunSucceeded', { outputs: [], outputs_blob: null });
};

/** Each has one slot. The run in that of the warm one is of the version that it has loaded. */
const aBusyWarmAndAnIdleColdExecutor = async (bed: SchedulerTestBed) => {
  const { metrics } = await bed.schedule();
  const workflow_version_id = newUuid();
  const warm = await bed.executor('warm', 1, [{ slot: 0, workflow_version_id }]);
  const busy = await bed.queue({ workflow_version_id });
  await warm.assigned(busy);
  const cold = await bed.executor('cold');
  const both = /runledger_scheduler_executors\{state="ready",.*\} 2/;
  await waitFor('both executors to be ready', async () => both.test(await metrics.metrics()));
  return { warm, cold, workflow_version_id, busy };
};

describe('a scheduler on a log', () => {
  it('assigns a queued run with all that its executor needs', async () => {
    await using bed = await openTestScheduler();
    await bed.schedule();
    const executor = await bed.executor('box');
    const key = await bed.queue();
    const { data, attempt } = await executor.assigned(key);
    expect(attempt).toBe(1);
    expect(data).toMatchObject({
      slot: 0,
      gpu: 'A10G',
      inputs: { size: 512 },
      inputs_blob: null,
      executor_public_key: 'MCowBQYDK2VwAyEA',
    });
  });

  it('gives one slot to one run after the other, in their order', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    const executor = await bed.executor('box');
    const keys = [await bed.queue(), await bed.queue(), await bed.queue()];
    for (const key of keys) {
      await executor.assigned(key);
      const others = await Promise.all(keys.map((other) => bed.run(other)));
      expect(others.filter((run) => isExecuting(run))).toHaveLength(1);
      await end(executor, key);
    }
    const page = (): Promise<string> => scheduler.metrics.metrics();
    const ends = /runs_ended_total\{status="success",end_reason="completed",.*\} 3/;
    await waitFor('the ends to be counted', async () => ends.test(await page()));
    expect(await page()).toMatch(/runledger_scheduler_wait_seconds_count\{.*gpu="A10G".*\} 3/);
    expect(await page()).toMatch(/runledger_scheduler_slots\{gpu="A10G",.*\} 1/);
    expect(await page()).toMatch(/runledger_scheduler_slots_busy\{gpu="A10G",.*\} 0/);
    expect(await page()).toMatch(/runledger_scheduler_executors\{state="ready",.*\} 1/);
    expect(await page()).toMatch(/runledger_scheduler_heartbeats_total\{.*\} [1-9]/);
    await bed.request('ExecutorDrainRequested', 'box');
    await waitFor('the drain', async () => /executors\{state="draining",.*\} 1/.test(await page()));
    expect(await page()).toMatch(/runledger_scheduler_drained_names\{.*\} 1/);
  });

  it('requeues a run when its executor is lost', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    const first = await bed.executor('first');
    const key = await bed.queue();
    await first.assigned(key);
    await first.append(key, 'RunStarted', { cold_start_s: 0 });
    await first.die();
    const second = await bed.executor('second');
    expect((await second.assigned(key)).attempt).toBe(2);
    expect(await bed.events(key)).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunStarted',
      'RunRequeued',
      'RunAssigned',
    ]);
    expect(await scheduler.metrics.metrics()).toMatch(/runledger_scheduler_executors_lost_total\{.*\} 1/);
  });

  it('ends runs in time: start deadline, run timeout with the last progress, no capacity, ignored cancel', async () => {
    await using bed = await openTestScheduler();
    await bed.schedule();
    const executor = await bed.executor('box', 2);
    const slow = await bed.queue({ run_timeout_s: 0.8 });
    const cancelled = await bed.queue();
    for (const key of [slow, cancelled]) {
      await executor.assigned(key);
      await executor.append(key, 'RunStarted', { cold_start_s: 0 });
    }
    const time = new Date().toISOString();
    reportProgress(bed.log, slow, 1, executor.id, { progress: 0.25, live_status: null, time });
    await bed.log.nc.flush();
    const late = await bed.queue({ start_deadline_s: 0.4 });
    const hopeless = await bed.queue({ start_deadline_s: 0.4, gpu: 'H100' });
    await bed.cancel(cancelled);
    expect(await ended(bed, late)).toMatchObject({ status: 'timeout', end_reason: 'start_deadline' });
    expect(await ended(bed, hopeless)).toMatchObject({ status: 'timeout', end_reason: 'no_capacity' });
    expect(await ended(bed, slow)).toMatchObject({
      status: 'timeout',
      end_reason: 'run_timeout',
      progress: 0.25,
    });
    expect(await ended(bed, cancelled)).toMatchObject({
      status: 'cancelled',
      end_reason: 'cancelled_by_client',
    });
  });

  it('assigns a run to the slot that has its version loaded, and says so', async () => {
    await using bed = await openTestScheduler();
    await bed.schedule();
    const workflow_version_id = newUuid();
    const executor = await bed.executor('box', 3, [{ slot: 2, workflow_version_id }]);
    const deployment_id = newUuid();
    const assigned = await executor.assigned(await bed.queue({ workflow_version_id, deployment_id }));
    expect(assigned.data).toMatchObject({
      slot: 2,
      deployment_id,
      reason: { candidates: 3, choice: 'warm' },
    });
  });

  it('holds a run out for the executor that has its version loaded, while others take the cold slot', async () => {
    await using bed = await openTestScheduler();
    const { warm, cold, workflow_version_id, busy } = await aBusyWarmAndAnIdleColdExecutor(bed);
    const patient = await bed.queue({ workflow_version_id, warm_wait_s: 3_600 });
    const other = await bed.queue({ workflow_version_id: newUuid() });
    await cold.assigned(other);
    await end(cold, other);
    await end(warm, busy);
    const { data } = await warm.assigned(patient);
    expect(data).toMatchObject({ slot: 0, reason: { choice: 'warm', warm_wait_s: expect.any(Number) } });
    expect(await bed.events(patient)).toEqual(['RunQueued', 'RunAssigned']);
  });

  it.each<[string, () => object]>([
    ['after a delay', () => ({ delay_s: 3 })],
    ['at a time', () => ({ start_at: new Date(Date.now() + 3_000).toISOString() })],
  ])('starts a run %s, not before, and counts it as delayed meanwhile', async (_how, when) => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    const executor = await bed.executor('box');
    const key = await bed.queue(when());
    const { not_before } = await bed
      .run(key)
      .then((run) => ('not_before' in run ? run : { not_before: null }));
    const request = { org_id: key.org_id, gpu: null, after: null, limit: 1 };
    const pool = await waitFor('the run to be known', async () => {
      const [known] = (await requestPools(bed.log, request, 1_000))?.pools ?? [];
      return known;
    });
    expect(pool).toMatchObject({ waiting: 0, delayed: 1, running: 0, oldest_queued_at: null });
    expect(await requestWaitReason(bed.log, key, 1_000)).toMatchObject({
      wait: { capacity: 'delayed', no_eta: 'not_yet' },
    });
    const { time } = await executor.assigned(key);
    expect(Date.parse(time)).toBeGreaterThanOrEqual(Date.parse(not_before ?? ''));
    expect(await bed.events(key)).toEqual(['RunQueued', 'RunAssigned']);
    const after = (await requestPools(bed.log, request, 1_000))?.pools;
    expect(after).toMatchObject([{ waiting: 0, delayed: 0, running: 1 }]);
  });

  it('names the blob of inputs that are too large for an assignment', async () => {
    await using bed = await openTestScheduler();
    await bed.schedule();
    const executor = await bed.executor('box');
    const inputs_blob = { sha256: 'c'.repeat(64), bytes: 100_000 };
    const assigned = await executor.assigned(await bed.queue({ inputs: null, inputs_blob }));
    expect(assigned.data).toMatchObject({ inputs: null, inputs_blob });
  });

  it('stops deciding, and reports it, at a fact that only a later release can read', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    expect(scheduler.following()).toEqual({ ok: true });
    const key = { org_id: orgId(newUuid()), run_id: runId(newUuid()) };
    const subject = `runs.${key.org_id}.${key.run_id}.life.queued.gateway.0.none`;
    await bed.log.js.publish(subject, JSON.stringify({ type: 'RunQueued', version: 2 }), {
      expect: { lastSubjectSequence: 0, lastSubjectSequenceSubject: lifecycleFilter(key) },
    });
    await waitFor('the scheduler to stand by', () => !scheduler.leading());
    expect(scheduler.following()).toMatchObject({
      ok: false,
      why: expect.stringContaining('version 2') as unknown,
    });
  });
});
