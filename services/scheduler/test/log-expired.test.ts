import type { RunKey } from '@runledger/contracts/events/subjects';
import { isEnded } from '@runledger/contracts/fold/run';
import { append } from '@runledger/event-log/append/append';
import { anAttempt, expired } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { saveSnapshot } from '../src/snapshot/snapshot-store.ts';
import type { FakeExecutor } from './fixtures/fake-executor.ts';
import { openTestScheduler, type SchedulerTestBed } from './fixtures/scheduler-test-bed.ts';

const SECOND_NS = 1_000_000_000;

/** As after the age of the log. */
const forgetAll = async ({ log }: SchedulerTestBed): Promise<void> => {
  const { config } = await log.jsm.streams.info('RUNS');
  await log.jsm.streams.update('RUNS', { max_age: SECOND_NS, duplicate_window: SECOND_NS });
  await waitFor('all to be forgotten', async () => (await log.jsm.streams.info('RUNS')).state.messages === 0);
  await log.jsm.streams.update('RUNS', { max_age: config.max_age });
};

const aRunningOne = async (bed: SchedulerTestBed, executor: FakeExecutor): Promise<RunKey> => {
  const key = await bed.queue();
  await executor.assigned(key);
  await executor.append(key, 'RunStarted', { cold_start_s: 0 });
  return key;
};

/** As a gateway ends it. */
const endOf = async (bed: SchedulerTestBed, key: RunKey, { id }: FakeExecutor): Promise<void> => {
  const end = expired(key, { attempt: anAttempt(1, id) });
  expect(await append(bed.log, end, 0)).toMatchObject({ kind: 'appended' });
};

describe('a run that outlives the log', () => {
  it('leaves the scheduler with its end, and the slot takes the next run', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    const executor = await bed.executor('box');
    const key = await aRunningOne(bed, executor);
    await waitFor('the run', () => scheduler.runs().some(({ run }) => run.status === 'running'));
    await forgetAll(bed);
    await endOf(bed, key, executor);
    await waitFor('no run', () => scheduler.runs().length === 0);
    await executor.assigned(await bed.queue());
    expect(isEnded(await bed.run(key))).toBe(true);
  });

  it('is forgotten when it cannot be timed out any more, also before its end', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    const executor = await bed.executor('box');
    const key = await aRunningOne(bed, executor);
    await bed.cancel(key);
    await waitFor('the request', () => scheduler.runs().some(({ run }) => 'cancel' in run && run.cancel));
    await forgetAll(bed);
    await waitFor('no run', () => scheduler.runs().length === 0);
    await executor.assigned(await bed.queue());
  });

  it.each(['with an older snapshot', 'without a snapshot'])(
    'stays ended for a scheduler that was away, %s',
    async (how) => {
      await using bed = await openTestScheduler();
      const executor = await bed.executor('box');
      const before = await bed.schedule();
      const key = await aRunningOne(bed, executor);
      await waitFor('the run', () => before.runs().some(({ run }) => run.status === 'running'));
      await before[Symbol.asyncDispose]();
      if (how === 'without a snapshot') await saveSnapshot(bed.log, 'scheduler', () => []);
      await forgetAll(bed);
      await endOf(bed, key, executor);
      const after = await bed.schedule();
      await executor.assigned(await bed.queue());
      expect(after.runs().some(({ run }) => run.run_id === key.run_id)).toBe(false);
    },
  );
});
