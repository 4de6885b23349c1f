import type { ProgressReport } from '@runledger/contracts/events/progress';
import { aRun, assigned, OTHER_EXECUTOR, queued, requeued, started } from '@runledger/testing/run-events';
import { expect, it } from 'vitest';
import { runProgress } from '../../../src/runs/queue-positions.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';

const report = (progress: number): ProgressReport => ({
  progress,
  live_status: `at ${progress}`,
  time: '2026-01-01T00:00:00.000Z',
});
const key = aRun();
const running = folded(queued(key), assigned(key), started(key));

it('never shows less progress within an attempt, also when the broker has lost reports', async () => {
  const answers = [report(0.4), undefined, report(0.2), report(0.6)];
  const progress = runProgress(async () => answers.shift());
  const shown = [];
  for (let asked = 0; asked < 4; asked += 1) shown.push((await progress(running))?.progress);
  expect(shown).toEqual([0.4, 0.4, 0.4, 0.6]);
});

it('shows the progress of a new attempt from the beginning', async () => {
  const answers = [report(0.4), undefined];
  const progress = runProgress(async () => answers.shift());
  await progress(running);
  const again = folded(
    queued(key),
    assigned(key),
    started(key),
    requeued(key),
    assigned(key, { attempt: 2, executor: OTHER_EXECUTOR }),
  );
  expect(await progress(again)).toBeUndefined();
});
