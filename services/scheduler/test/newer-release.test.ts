import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { appendOwn } from '@runledger/event-log/append/append';
import { head } from '@runledger/event-log/read/read-run';
import {
  assigned,
  LATER_TYPE,
  requeued,
  started,
  storeOfLaterType,
  succeeded,
} from '@runledger/testing/run-events';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestScheduler, type SchedulerTestBed } from './fixtures/scheduler-test-bed.ts';

/** A fact of the fleet as only a later release writes it. */
const publishNewer = async (
  { log }: SchedulerTestBed,
  subject: string,
  type: string,
  version = 2,
): Promise<void> => {
  await log.js.publish(subject, JSON.stringify({ type, version }));
};

describe('a fact of a run that an executor wrote in a version of a later release', () => {
  /** Of this run, on the condition that it comes next. */
  const append = async ({ log }: SchedulerTestBed, key: RunKey, event: RunEvent): Promise<void> => {
    expect(await appendOwn(log, event, await head(log, key))).toMatchObject({ kind: 'appended' });
  };

  it('becomes a dead letter, and its run goes to another executor when that one leaves, also after a restart', async () => {
    await using bed = await openTestScheduler();
    const first = await bed.schedule();
    const hostile = await bed.executor('hostile');
    const key = await bed.queue();
    await hostile.assigned(key);
    await append(bed, key, { ...succeeded(key), executor_id: hostile.id, version: 99 });
    const [deadLetter] = await waitFor('the dead letter', async () => {
      const list = await listDeadLetters(bed.log, { stream: 'RUNS', after: 0, limit: 10 });
      return list.length > 0 && list;
    });
    expect(deadLetter?.reason).toBe('RunSucceeded is in version 99, and its writer may use 1 at most');
    expect(first.following()).toEqual({ ok: true });
    await first[Symbol.asyncDispose]();

    const second = await bed.schedule();
    const box = await bed.executor('box');
    await box.assigned(await bed.queue());
    await hostile.leave();
    const other = await bed.executor('other');
    await other.assigned(key);
    expect(await bed.events(key)).toEqual(['RunQueued', 'RunAssigned', 'RunRequeued', 'RunAssigned']);
    expect(second.following()).toEqual({ ok: true });
    expect(await listDeadLetters(bed.log, { stream: 'RUNS', after: 0, limit: 10 })).toHaveLength(1);
  });

  it('stops the scheduler when its assignment names that version', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    const key = await bed.queue();
    await append(bed, key, assigned(key, { data: { fact_versions: { RunStarted: 2 } } }));
    await append(bed, key, { ...started(key), version: 2 });
    await waitFor('the scheduler to stand by', () => !scheduler.leading());
    expect(scheduler.following()).toMatchObject({
      ok: false,
      why: expect.stringContaining('RunStarted in version 2') as unknown,
    });
  });
});

describe('a fact of a run of a type that a later release has added', () => {
  it('stops the scheduler when a service wrote it, and not when an executor made it up', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    const box = await bed.executor('box');
    const key = await bed.queue();
    await box.assigned(key);
    await storeOfLaterType(bed.log, { ...started(key), executor_id: box.id }, await head(bed.log, key));
    const [deadLetter] = await waitFor('the dead letter', async () => {
      const list = await listDeadLetters(bed.log, { stream: 'RUNS', after: 0, limit: 10 });
      return list.length > 0 && list;
    });
    expect(deadLetter?.reason).toBe(`no assignment lets its writer store ${LATER_TYPE}`);
    expect(scheduler.following()).toEqual({ ok: true });

    await storeOfLaterType(bed.log, requeued(key), await head(bed.log, key));
    await waitFor('the scheduler to stand by', () => !scheduler.leading());
    expect(scheduler.following()).toMatchObject({
      ok: false,
      why: expect.stringContaining(`${LATER_TYPE} in version 1`) as unknown,
    });
  });
});

describe('a fact of the fleet from a later release', () => {
  it.each([
    ['ExecutorDrainRequested', 'fleet.box.all.drain_requested', 2],
    ['ExecutorResumeRequested', 'fleet.box.all.resume_requested', 2],
    ['ExecutorLost', 'fleet.box.0123456789ab.lost', 2],
    ['ExecutorCordoned', 'fleet.box.all.cordoned', 1],
  ])(
    'stops the scheduler, which reports it, when the control plane wrote it: %s',
    async (type, subject, version) => {
      await using bed = await openTestScheduler();
      const scheduler = await bed.schedule();
      await waitFor('the scheduler to lead', () => scheduler.leading());
      await publishNewer(bed, subject, type, version);
      await waitFor('the scheduler to stand by', () => !scheduler.leading());
      expect(scheduler.following()).toMatchObject({ ok: false });
      expect(scheduler.following()).toMatchObject({
        why: expect.stringContaining(`${type} in version ${version}`) as unknown,
      });
    },
  );

  it.each([
    ['ExecutorRegistered', 2],
    ['ExecutorPainted', 1],
  ])(
    'becomes a dead letter when an executor wrote it, and all other executors get runs: %s',
    async (type, version) => {
      await using bed = await openTestScheduler();
      const scheduler = await bed.schedule();
      await waitFor('the scheduler to lead', () => scheduler.leading());
      await publishNewer(bed, 'fleet.newer.0123456789ab.registered', type, version);
      const [deadLetter] = await waitFor('the dead letter', async () => {
        const list = await listDeadLetters(bed.log, { stream: 'FLEET', after: 0, limit: 10 });
        return list.length > 0 && list;
      });
      expect(deadLetter?.reason).toBe(`${type} in version ${version} is of a later release`);
      const box = await bed.executor('box');
      await box.assigned(await bed.queue());
      expect(scheduler.following()).toEqual({ ok: true });
    },
  );
});
