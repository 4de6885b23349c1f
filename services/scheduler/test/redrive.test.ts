import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import { newUuid } from '@runledger/contracts/ids';
import type { RedriveResponse } from '@runledger/contracts/requests/operator-requests';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { requestRedrive } from '@runledger/request-reply/redrive';
import { acquireLease, LEASE_TTL_MS } from '@runledger/coordination/lease';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { readRun } from '@runledger/event-log/read/read-run';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import type { SchedulerInput } from '../src/core/scheduler-input.ts';
import { withoutRuns } from './fixtures/snapshots.ts';
import { saveState } from '../src/snapshot/snapshot-store.ts';
import { redrive as redriveMessage } from '../src/respond-to-requests.ts';
import { openTestScheduler, type SchedulerTestBed } from './fixtures/scheduler-test-bed.ts';
import { TestBed } from './core/test-bed.ts';

const RESPONSE_WITHIN_MS = 10_000;

const redrive = (
  { log }: SchedulerTestBed,
  stream: 'RUNS' | 'FLEET',
  sequence: number,
): Promise<RedriveResponse | undefined> =>
  waitFor('a response', () => requestRedrive(log, 'scheduler', { stream, sequence }, RESPONSE_WITHIN_MS));

describe('a dead letter that a scheduler redrives', () => {
  it('brings back a run that the scheduler did not know, and decides on it', async () => {
    await using bed = await openTestScheduler();
    const key = await bed.queue();
    await bed.queue({ gpu: 'H100' });
    // As an earlier release left it, which could not read the first run.
    const { created } = await runsIdentity(bed.log);
    const event_id = await eventIdAt(bed, 2);
    const position = { stream: 'RUNS', created, sequence: 2, event_id } as const;
    const drains = { created, names: [] };
    await saveState(bed.log, () => withoutRuns({ position, drains }));
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    expect(scheduler.runs()).toEqual([]);

    expect(await redrive(bed, 'RUNS', 1)).toEqual({
      outcome: 'taken',
      why: `Run ${key.run_id} was read again from the log: its status is queued.`,
    });
    const executor = await bed.executor('box');
    await executor.assigned(key);
    expect(scheduler.runs().map(({ run }) => run.run_id)).toEqual([key.run_id]);
  });

  it('changes nothing for a run that is known already', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    const executor = await bed.executor('box');
    const key = await bed.queue();
    await executor.assigned(key);
    const { number } = await waitFor('the assignment to be known', () => {
      const run = scheduler.runs()[0]?.run;
      return run?.status === 'started' && run;
    });
    const before = scheduler.runs();
    // While the acknowledgement of its assignment is on its way, the run is being decided.
    await waitFor('it to be taken', async () => (await redrive(bed, 'RUNS', number))?.outcome === 'taken');
    expect(scheduler.runs()).toEqual(before);
  });

  it('is refused while it does not belong to its run', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    const { org_id, run_id } = await bed.queue();
    const forged = `runs.${org_id}.${run_id}.life.started.executor.1.stranger.1`;
    const { seq } = await bed.log.js.publish(forged, JSON.stringify({ type: 'RunStarted' }));
    const deadLetter = await waitFor('the dead letter', async () => (await listDeadLetters(bed.log))[0]);
    expect(deadLetter).toMatchObject({ consumer: 'scheduler', stream: 'RUNS', sequence: seq });
    const response = await redrive(bed, 'RUNS', seq);
    expect(response?.outcome).toBe('refused');
    expect(response?.why).toContain('It is still refused');
  });

  it('is refused when it is a known fact of the fleet, when its subject is wrong, and when the log no longer has it', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    await bed.executor('box');
    const elsewhere = { type: 'ExecutorLeft', version: 1, event_id: newUuid(), executor_id: 'box.1' };
    const body = JSON.stringify({ ...elsewhere, time: new Date().toISOString() });
    const { seq } = await bed.log.js.publish('fleet.other.1.left', body);
    await waitFor('the dead letter', async () => (await listDeadLetters(bed.log)).length === 1);
    expect((await redrive(bed, 'FLEET', 1))?.why).toContain('a scheduler began to lead');
    expect((await redrive(bed, 'FLEET', seq - 1))?.why).toContain('ExecutorRegistered is known');
    expect((await redrive(bed, 'FLEET', seq))?.why).toContain('not under fleet.box.1.left');
    expect(await redrive(bed, 'RUNS', 99)).toEqual({
      outcome: 'refused',
      why: 'Message 99 is no longer in RUNS: it has expired, or never existed.',
    });
  });

  it('is refused while a decision on its run is being stored', async () => {
    await using bed = await openTestScheduler();
    const key = await bed.queue();
    const { history } = await found(bed, key);
    const core = new TestBed();
    core.lead();
    core.register('box', { programs: ['render-image'] });
    core.heartbeat('box');
    const { scheduling } = core;
    const [decision] = scheduling.take({
      type: 'run_fact',
      key,
      history,
      event_id: null,
      writer: 'gateway',
    });
    const redriving = {
      scheduling,
      take: (input: SchedulerInput) => core.take(input),
      applyFleetFact: () => undefined,
    };
    const redriveRun = (): Promise<RedriveResponse> =>
      redriveMessage(bed.log, redriving, { stream: 'RUNS', sequence: 1 });
    expect((await redriveRun()).why).toContain('is being stored right now');
    expect(scheduling.isDeciding(key)).toBe(true);
    if (decision) scheduling.take({ type: 'settled', decision, outcome: 'refused' });
    expect((await redriveRun()).outcome).toBe('taken');
    // Another decision is made on it.
    expect(core.last).toMatchObject([{ type: 'assign', key }]);
  });

  it('gets a response from the leading scheduler only', async () => {
    await using bed = await openTestScheduler();
    const stop = new AbortController();
    await acquireLease(bed.log, { name: 'scheduler', holder: 'another', ttlMs: LEASE_TTL_MS }, stop.signal);
    const scheduler = await bed.schedule();
    await bed.queue();
    await waitFor('the run to be known', () => scheduler.runs().length === 1);
    expect(await requestRedrive(bed.log, 'scheduler', { stream: 'RUNS', sequence: 1 }, 500)).toBeUndefined();
  });
});

const found = async ({ log }: SchedulerTestBed, key: RunKey): Promise<{ readonly history: RunHistory }> => {
  const read = await readRun(log, key);
  if (read.kind !== 'found') throw new Error(`run ${key.run_id} is ${read.kind}`);
  return read;
};

const eventIdAt = async ({ log }: SchedulerTestBed, sequence: number): Promise<string> => {
  const message = await log.jsm.streams.getMessage('RUNS', { seq: sequence });
  const event: { event_id: string } | undefined = message?.json();
  return event?.event_id ?? '';
};
