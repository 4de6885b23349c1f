import { aLog } from '@runledger/event-log/test/fixtures/test-log';
import { expect, it } from 'vitest';
import { loadState, saveState } from '../../../src/snapshot/stored-state.ts';
import { waitingRuns } from '../../fixtures/waiting-runs.ts';

// The longest text that Node has room for is 512 MiB.
const RUNS = 260_000;
const LONG_URL = `https://receiver.example/${'x'.repeat(2_000)}`;

it('a snapshot whose text is longer than the longest string is saved and restored', async () => {
  await using test = await aLog();
  const created = '2026-01-01T00:00:00.000Z';
  const position = { stream: 'RUNS', created, sequence: RUNS, event_id: null } as const;
  const runs = waitingRuns(RUNS, { webhook: LONG_URL });
  expect(JSON.stringify(runs[0]).length * RUNS).toBeGreaterThan(512 * 1024 ** 2);

  await saveState(test.log, { position, drains: { created, names: [] }, durations: [], runs });
  const restored = await loadState(test.log);
  if (restored?.kind !== 'decoded') throw new Error(restored?.why ?? 'there is no snapshot');
  expect(restored.runs).toHaveLength(RUNS);
  expect(restored.runs.at(-1)).toEqual(runs.at(-1));
  expect(restored.position).toEqual(position);
});
