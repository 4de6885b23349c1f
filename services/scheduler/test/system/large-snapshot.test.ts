import { aLog } from '@runledger/event-log/test/fixtures/test-log';
import { expect, it } from 'vitest';
import { loadState, saveState } from '../../src/snapshot/snapshot-store.ts';
import { aScheduling, runsIn, takeRuns } from '../fixtures/snapshots.ts';
import { waitingRuns } from '../fixtures/waiting-runs.ts';

const RUNS = 200_000;

it('a snapshot of two hundred thousand queued runs takes about a hundred bytes for each, and is restored', async () => {
  await using test = await aLog();
  const created = '2026-01-01T00:00:00.000Z';
  const position = { stream: 'RUNS', created, sequence: RUNS, event_id: null } as const;
  const runs = waitingRuns(RUNS);
  const scheduling = aScheduling();
  takeRuns(scheduling, runs);

  const drains = { created, names: [] };
  await saveState(test.log, () => {
    const { kept, ...rows } = scheduling.freeze();
    expect(kept).toEqual([]);
    return { position, drains, durations: [], runs: [], ...rows };
  });
  const { bytes } = (await test.log.jsm.streams.info('OBJ_SNAPSHOTS')).state;
  expect(bytes / RUNS).toBeLessThan(150);
  const restored = await loadState(test.log);
  expect(restored).toMatchObject({ kind: 'decoded', position });
  const all = runsIn(restored);
  expect(all).toHaveLength(RUNS);
  for (const at of [0, RUNS / 2, RUNS - 1]) expect(all.at(at)?.run.run_id).toBe(runs.at(at)?.run.run_id);
});
