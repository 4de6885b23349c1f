import type { ExecutorState } from '@runledger/contracts/requests/executors';
import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { requestExecutors } from '@runledger/request-reply/executors';
import { requestWaitReason } from '@runledger/request-reply/wait-reason';
import { provision } from '@runledger/event-log/provision/provision';
import { createdAt } from '@runledger/event-log/read/stream-identity';
import { withoutRuns } from './fixtures/snapshots.ts';
import { saveState } from '../src/snapshot/snapshot-store.ts';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestScheduler, type SchedulerTestBed } from './fixtures/scheduler-test-bed.ts';

const RESPONSE_WITHIN_MS = 5_000;

const executors = async ({ log }: SchedulerTestBed): Promise<ExecutorState[] | undefined> =>
  (await requestExecutors(log, { name: null, after: null, limit: 200 }, RESPONSE_WITHIN_MS))?.executors;

/** Waits until the leading scheduler lists exactly these executors. */
const executorsAre = (
  bed: SchedulerTestBed,
  ...states: readonly Partial<ExecutorState>[]
): Promise<unknown> =>
  waitFor(`executors to be ${JSON.stringify(states)}`, async () => {
    const known = await executors(bed);
    if (known?.length !== states.length) return false;
    return known.every(
      ({ name, state, executor_id }, at) =>
        name === states[at]?.name &&
        state === states[at].state &&
        (states[at].executor_id === undefined || executor_id === states[at].executor_id),
    );
  });

const waitsForDraining = (bed: SchedulerTestBed, key: RunKey): Promise<unknown> =>
  waitFor('the run to wait for executors that drain', async () => {
    const response = await requestWaitReason(bed.log, key, RESPONSE_WITHIN_MS);
    return response?.wait?.capacity === 'draining';
  });

/** FLEET has room for a few messages only, and forgets its oldest; the sequence of the first that it still has. */
const forgetFirst = async (bed: SchedulerTestBed): Promise<number> => {
  await provision(bed.log, { fleetMaxBytes: 2_000 });
  for (let request = 0; request < 10; request += 1) await bed.request('ExecutorResumeRequested', 'other');
  return (await bed.log.jsm.streams.info('FLEET')).state.first_seq;
};

describe('a drained executor', () => {
  it('gets no runs, also when it restarts, until its name is resumed', async () => {
    await using bed = await openTestScheduler();
    await bed.schedule();
    const first = await bed.executor('box');
    await executorsAre(bed, { name: 'box', state: 'ready' });
    const before = await bed.queue();
    await first.assigned(before);
    await bed.request('ExecutorDrainRequested', 'box');
    await executorsAre(bed, { name: 'box', state: 'draining' });
    const [state] = (await executors(bed)) ?? [];
    expect(state?.slots[0]?.run).toMatchObject({ run_id: before.run_id, attempt: 1 });
    expect(state?.drain?.requested_at).toBeDefined();

    // What runs there goes on.
    await first.append(before, 'RunStarted', { cold_start_s: 0 });
    await first.append(before, 'RunSucceeded', { outputs: [], outputs_blob: null });
    const key = await bed.queue();
    await waitsForDraining(bed, key);
    await first.leave();
    await executorsAre(bed, { name: 'box', state: 'absent', executor_id: null });
    const second = await bed.executor('box');
    await executorsAre(bed, { name: 'box', state: 'draining', executor_id: second.id });
    expect((await requestWaitReason(bed.log, key, RESPONSE_WITHIN_MS))?.wait).toEqual({
      ahead: 0,
      capacity: 'draining',
      eta: null,
      no_eta: 'not_busy',
      gpu: 'A10G',
      executors: { serving: 0, busy_slots: 0, free_slots: 0, draining: 1 },
    });
    expect(await bed.events(key)).toEqual(['RunQueued']);

    await bed.request('ExecutorResumeRequested', 'box');
    await second.assigned(key);
    await executorsAre(bed, { name: 'box', state: 'ready' });
  });

  it('leaves runs to others, and stays drained under the next scheduler', async () => {
    await using bed = await openTestScheduler();
    const one = await bed.schedule();
    await waitFor('the first to lead', () => one.leading());
    const two = await bed.schedule();
    const other = await bed.executor('other', 10);
    await bed.executor('box', 10);
    await bed.request('ExecutorDrainRequested', 'box');
    await executorsAre(bed, { name: 'box', state: 'draining' }, { name: 'other', state: 'ready' });
    await other.assigned(await bed.queue());
    await one[Symbol.asyncDispose]();
    await waitFor('the second to lead', () => two.leading());
    await executorsAre(bed, { name: 'box', state: 'draining' }, { name: 'other', state: 'ready' });
    for (const key of [await bed.queue(), await bed.queue()]) await other.assigned(key);
  });

  it('stays drained when FLEET has forgotten the request: the snapshot has it', async () => {
    await using bed = await openTestScheduler();
    const one = await bed.schedule();
    await bed.request('ExecutorDrainRequested', 'box');
    await executorsAre(bed, { name: 'box', state: 'absent' });
    const key = await bed.queue();
    await waitFor('the run to be known', () => one.runs().length === 1);
    await one[Symbol.asyncDispose]();
    expect(await forgetFirst(bed)).toBeGreaterThan(1);

    await bed.schedule();
    const executor = await bed.executor('box');
    await executorsAre(bed, { name: 'box', state: 'draining' });
    expect(await bed.events(key)).toEqual(['RunQueued']);
    await bed.request('ExecutorResumeRequested', 'box');
    await executor.assigned(key);
  });

  it('stays drained over a restart of the scheduler from a snapshot', async () => {
    await using bed = await openTestScheduler();
    const one = await bed.schedule({ snapshotEveryEvents: 1 });
    await bed.executor('box');
    await bed.request('ExecutorDrainRequested', 'box');
    await executorsAre(bed, { name: 'box', state: 'draining' });
    const key = await bed.queue();
    await waitsForDraining(bed, key);
    await one[Symbol.asyncDispose]();

    const two = await bed.schedule();
    await executorsAre(bed, { name: 'box', state: 'draining' });
    expect(two.runs().map(({ run }) => run.run_id)).toEqual([key.run_id]);
    expect(await bed.events(key)).toEqual(['RunQueued']);
  });

  it('stays drained over a restart when no run was ever queued and FLEET has forgotten the request', async () => {
    await using bed = await openTestScheduler();
    const one = await bed.schedule();
    await bed.request('ExecutorDrainRequested', 'box');
    await executorsAre(bed, { name: 'box', state: 'absent' });
    await one[Symbol.asyncDispose]();
    expect(await forgetFirst(bed)).toBeGreaterThan(1);

    await bed.schedule();
    await executorsAre(bed, { name: 'box', state: 'absent' });
  });

  it('stays drained over a restart when RUNS has forgotten what the snapshot ends with', async () => {
    await using bed = await openTestScheduler();
    await bed.queue();
    const created = await createdAt(bed.log, 'RUNS');
    const position = { stream: 'RUNS', created, sequence: 1, event_id: 'another' } as const;
    const drain = { requested_at: '2026-01-01T00:00:00.000Z', requested_by: newUuid() };
    const drains = {
      created: await createdAt(bed.log, 'FLEET'),
      names: [{ name: 'box', sequence: 1, drain }],
    };
    await saveState(bed.log, () => withoutRuns({ position, drains }));

    const scheduler = await bed.schedule();
    await executorsAre(bed, { name: 'box', state: 'absent' });
    expect(scheduler.runs()).toHaveLength(1);
  });

  it('is not drained by what a snapshot of another FLEET says', async () => {
    await using bed = await openTestScheduler();
    const drain = { requested_at: '2026-01-01T00:00:00.000Z', requested_by: newUuid() };
    const drains = { created: '2020-01-01T00:00:00Z', names: [{ name: 'box', sequence: 1, drain }] };
    await saveState(bed.log, () => withoutRuns({ drains }));
    await bed.schedule();
    const executor = await bed.executor('box');
    const key = await bed.queue();
    expect(await executor.assigned(key)).toMatchObject({ run_id: key.run_id });
  });
});
