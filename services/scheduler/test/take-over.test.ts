import { announcedTerm, TERMS, termAnnouncementSubject } from '@runledger/contracts/events/leader-terms';
import { append } from '@runledger/event-log/append/append';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { beginTerm } from '@runledger/event-log/append/append-fleet';
import { head } from '@runledger/event-log/read/read-run';
import { assigned, runEvent } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestScheduler, type SchedulerTestBed } from './fixtures/scheduler-test-bed.ts';

const lastTerm = async ({ log }: SchedulerTestBed): Promise<number> =>
  (await lastMessage(log, 'FLEET', TERMS))?.seq ?? 0;

const SUCCESS = { outputs: [], outputs_blob: null };

describe('a scheduler that takes over', () => {
  it('tells its term to every executor before it decides, and assigns in it', async () => {
    await using bed = await openTestScheduler();
    const executors = [await bed.executor('one'), await bed.executor('two')];
    const key = await bed.queue();
    await bed.schedule();
    const read = await waitFor('the assignment', async () =>
      (
        await Promise.all(
          executors.map(({ id }) => lastMessage(bed.log, 'RUNS', `runs.*.*.life.assigned.*.*.${id}`)),
        )
      ).find((message) => message !== null),
    );
    const term = await lastTerm(bed);
    expect(read.json()).toMatchObject({ run_id: key.run_id, data: { term } });
    for (const { id } of executors) {
      const told = await lastMessage(bed.log, 'RUNS', termAnnouncementSubject(id));
      expect(announcedTerm(told?.json())).toBe(term);
      expect(told?.seq).toBeLessThan(read.seq);
    }
  });

  it('gives a run that a former leader still assigns its place again, within its limit and with all its attempts', async () => {
    await using bed = await openTestScheduler();
    const former = await bed.schedule();
    await waitFor('the former to lead', () => former.leading());
    const formerTerm = await lastTerm(bed);
    const executor = await bed.executor('box', 2);
    const limits = { concurrency_key: 'document', max_attempts: 2 };
    const holder = await bed.queue(limits);
    expect((await executor.assigned(holder)).data.term).toBe(formerTerm);
    await former[Symbol.asyncDispose]();
    const next = await bed.schedule();
    await waitFor('the next to lead', () => next.leading());
    const term = await lastTerm(bed);
    expect(term).toBeGreaterThan(formerTerm);

    const late = await bed.queue(limits);
    const event = assigned(late, { executor: executor.id, data: { slot: 1, term: formerTerm } });
    const stored = await append(bed.log, event, await head(bed.log, late));
    // The executor gives it back.
    const data = {
      error: { kind: 'not_runnable', message: 'void', retryable: true },
      retry_after_s: 0,
      is_void: true,
    } as const;
    const back = runEvent('RunAttemptFailed', late, { attempt: 1, executor: executor.id, data });
    await append(bed.log, back, stored.kind === 'appended' ? stored.sequence : 0);
    await executor.append(holder, 'RunStarted', { cold_start_s: 0 });
    await waitFor('the run to wait', () =>
      next
        .runs()
        .some(({ run }) => run.run_id === late.run_id && run.status === 'queued' && run.attempt !== null),
    );
    await executor.append(holder, 'RunSucceeded', SUCCESS);
    expect(await executor.assigned(late)).toMatchObject({ attempt: 2, data: { term } });

    await executor.die();
    // It was the first that counts, so there is another one.
    const other = await bed.executor('other');
    expect(await other.assigned(late)).toMatchObject({ attempt: 3 });
    expect(await bed.events(late)).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunAttemptFailed',
      'RunAssigned',
      'RunRequeued',
      'RunAssigned',
    ]);
  });

  it('begins another term when somebody else has begun one', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    const other = await beginTerm(bed.log, 'other');
    const term = await waitFor('the next term', async () => {
      const last = await lastTerm(bed);
      return last > other ? last : undefined;
    });
    const executor = await bed.executor('box');
    const key = await bed.queue();
    expect((await executor.assigned(key)).data.term).toBe(term);
  });
});
