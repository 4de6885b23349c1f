import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { saveSnapshot, loadState, saveState } from '../../src/snapshot/snapshot-store.ts';
import { waitFor } from '@runledger/testing/wait-for';
import type { SnapshotRun } from '../../src/snapshot/snapshot-format.ts';
import { decodeSnapshot } from '../../src/snapshot/snapshot-codec.ts';
import { runsIn, withoutRuns } from '../fixtures/snapshots.ts';
import { openTestScheduler, type SchedulerTestBed } from '../fixtures/scheduler-test-bed.ts';

const inOrder = (runs: readonly SnapshotRun[]): SnapshotRun[] =>
  runs.toSorted((a, b) => a.run.number - b.run.number);

/** Runs in every situation: waiting, executing, cancel requested, ended. */
const someRuns = async (bed: SchedulerTestBed): Promise<void> => {
  const executor = await bed.executor('box', 3);
  const keys = [await bed.queue(), await bed.queue(), await bed.queue()];
  for (const key of keys) {
    await executor.assigned(key);
    await executor.append(key, 'RunStarted', { cold_start_s: 0 });
  }
  const [first, second] = keys;
  if (first) await executor.append(first, 'RunSucceeded', { outputs: [], outputs_blob: null });
  if (second) await bed.cancel(second);
  await bed.queue({ gpu: 'H100' });
  await bed.queue({ gpu: 'T4' });
};

const saved = async (bed: SchedulerTestBed): Promise<SnapshotRun[]> => {
  return runsIn(await loadState(bed.log));
};

const NO_DRAINS = { created: '2020-01-01T00:00:00Z', names: [] };
const quiet = { cancelEnforceMs: 3_600_000 };

describe('a snapshot', () => {
  it('restores the same state as a rebuild from the whole log, with the later events', async () => {
    await using bed = await openTestScheduler();
    const leader = await bed.schedule(quiet);
    await someRuns(bed);
    await waitFor('the state to hold all four runs', () => leader.runs().length === 4);
    await leader[Symbol.asyncDispose]();
    expect(await saved(bed)).toHaveLength(4);
    await bed.queue({ gpu: 'L4' });

    const restored = await bed.schedule({ ...quiet, instance: 'restored' });
    await waitFor('the restored state', () => restored.runs().length === 5);
    await restored[Symbol.asyncDispose]();
    await saveSnapshot(bed.log, 'scheduler', () => []);
    const rebuilt = await bed.schedule({ ...quiet, instance: 'rebuilt' });
    await waitFor('the rebuilt state', () => rebuilt.runs().length === 5);
    expect(inOrder(rebuilt.runs())).toEqual(inOrder(restored.runs()));
  });

  it('is saved after a number of events while the scheduler leads', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule({ snapshotEveryEvents: 3 });
    await waitFor('the scheduler to lead', () => scheduler.leading());
    for (let run = 0; run < 3; run += 1) await bed.queue({ gpu: 'H100' });
    const runs = await waitFor('a snapshot', async () => {
      const runs = await saved(bed);
      return runs.length > 0 && runs;
    });
    expect(runs).toHaveLength(3);
  });

  it('is dropped when it is of another log', async () => {
    await using bed = await openTestScheduler();
    const key = await bed.queue({ gpu: 'H100' });
    const position = {
      stream: 'RUNS',
      created: '2020-01-01T00:00:00Z',
      sequence: 1,
      event_id: null,
    } as const;
    await saveState(bed.log, () => withoutRuns({ position, drains: NO_DRAINS }));
    const scheduler = await bed.schedule();
    const known = await waitFor('the run, from the log', () => scheduler.runs()[0]);
    expect(known.run.run_id).toBe(key.run_id);
  });

  it('is used only when the log has its last event at its position', async () => {
    await using bed = await openTestScheduler();
    const key = await bed.queue({ gpu: 'H100' });
    const first = await bed.schedule();
    await waitFor('the run', () => first.runs().length === 1);
    await first[Symbol.asyncDispose]();
    const decoded = await loadState(bed.log);
    if (decoded?.kind !== 'decoded') throw new Error(decoded?.why ?? 'there is no snapshot');
    const { position } = decoded;
    if (!position) throw new Error('the snapshot has no position');
    await saveState(bed.log, () => withoutRuns({ position, drains: NO_DRAINS }));
    const trusting = await bed.schedule();
    await waitFor('the second to lead', () => trusting.leading());
    expect(trusting.runs()).toEqual([]);
    await trusting[Symbol.asyncDispose]();

    const other = { ...position, event_id: 'another' };
    await saveState(bed.log, () => withoutRuns({ position: other, drains: NO_DRAINS }));
    const doubting = await bed.schedule();
    const known = await waitFor('the run, from the log', () => doubting.runs()[0]);
    expect(known.run.run_id).toBe(key.run_id);
  });

  it.each([
    ['empty', new Uint8Array()],
    ['not compressed', new TextEncoder().encode('{"format": 1}')],
  ])('is invalid when it is %s, and says why', async (_what, bytes) => {
    expect(await decodeSnapshot(Readable.from([bytes]))).toMatchObject({ kind: 'invalid' });
  });
});

describe('a message that does not belong to its run', () => {
  it('becomes a dead letter and moves the head; the run is still assigned', async () => {
    await using bed = await openTestScheduler();
    const scheduler = await bed.schedule();
    await waitFor('the scheduler to lead', () => scheduler.leading());
    const key = await bed.queue();
    await bed.log.js.publish(`runs.${key.org_id}.${key.run_id}.life.ended.executor.1.forged`, '{}');
    const executor = await bed.executor('box');
    await executor.assigned(key);
    const deadLetter = await waitFor('the dead letter', async () => (await listDeadLetters(bed.log))[0]);
    expect(deadLetter).toMatchObject({ consumer: 'scheduler', stream: 'RUNS' });
  });
});
