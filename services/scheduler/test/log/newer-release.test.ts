import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { waitFor } from '@runledger/testing/time/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestScheduler, type SchedulerTestBed } from '../fixtures/scheduler-test-bed.ts';

/** A fact of the fleet as only a later release writes it. */
const publishNewer = async ({ log }: SchedulerTestBed, subject: string, type: string): Promise<void> => {
  await log.js.publish(subject, JSON.stringify({ type, version: 2 }));
};

describe('a fact of the fleet from a later release', () => {
  it.each([
    ['ExecutorDrainRequested', 'fleet.box.all.drain_requested'],
    ['ExecutorResumeRequested', 'fleet.box.all.resume_requested'],
    ['ExecutorLost', 'fleet.box.0123456789ab.lost'],
  ])('stops the scheduler, which reports it, when the control plane wrote it: %s', async (type, subject) => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    await publishNewer(bed, subject, type);
    await waitFor('the scheduler to stand by', () => !scheduler.leading());
    expect(scheduler.following()).toMatchObject({ ok: false });
    expect(scheduler.following()).toMatchObject({
      why: expect.stringContaining(`${type} in version 2`) as unknown,
    });
  });

  it('becomes a dead letter when an executor wrote it: that executor gets no runs, and all others do', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    await publishNewer(bed, 'fleet.newer.0123456789ab.registered', 'ExecutorRegistered');
    const [deadLetter] = await waitFor('the dead letter', async () => {
      const list = await listDeadLetters(bed.log, { stream: 'FLEET', after: 0, limit: 10 });
      return list.length > 0 && list;
    });
    expect(deadLetter?.reason).toBe('ExecutorRegistered in version 2 is of a later release');
    const box = await bed.executor('box');
    await box.assigned(await bed.queue());
    expect(scheduler.following()).toEqual({ ok: true });
  });
});
