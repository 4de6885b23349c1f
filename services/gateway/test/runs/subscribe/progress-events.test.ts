import type { Run } from '@runledger/contracts/fold/run';
import {
  assigned,
  aRun,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  requeued,
  started,
  uploading,
} from '@runledger/testing/run-events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { progressEvents, type Reported } from '../../../src/runs/run-events.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const key = aRun();
const first = folded(queued(key), assigned(key), started(key));
const second = folded(
  queued(key),
  assigned(key),
  requeued(key),
  assigned(key, { attempt: 2, executor: OTHER_EXECUTOR }),
);

const of = (progress: number, changes: Partial<Reported> = {}): Reported => ({
  attempt: 1,
  executor: EXECUTOR,
  report: { progress, live_status: null, time: '2026-01-01T00:00:00.000Z' },
  ...changes,
});

const someProgress = (begin: Run) => {
  let run = begin;
  const sent: (readonly [attempt: number | undefined, progress: number | undefined])[] = [];
  const progress = progressEvents({
    run: () => run,
    onProgress: () => sent.push([progress.latest()?.attempt, progress.latest()?.progress]),
    clock: () => performance.now(),
  });
  const become = (next: Run): void => {
    run = next;
    progress.emitLater();
  };
  return { ...progress, sent, present: () => progress.latest(), become };
};

it('sends the first report at once, and the latest one a second later', () => {
  const { report, sent } = someProgress(first);
  report(of(0.1));
  vi.advanceTimersByTime(0);
  report(of(0.2));
  report(of(0.3));
  vi.advanceTimersByTime(999);
  expect(sent).toEqual([[1, 0.1]]);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([
    [1, 0.1],
    [1, 0.3],
  ]);
});

it('sends a report that arrived before the fact of its attempt with that fact', () => {
  const { report, sent, become, present } = someProgress(first);
  report(of(0.1, { attempt: 2, executor: OTHER_EXECUTOR }));
  vi.advanceTimersByTime(5_000);
  expect([sent, present()]).toEqual([[], undefined]);
  become(second);
  vi.advanceTimersByTime(0);
  expect(sent).toEqual([[2, 0.1]]);
});

it('sends no report of less progress, and none without news', () => {
  const { report, sent } = someProgress(first);
  for (const progress of [0.5, 0.4, 0.5]) {
    report(of(progress));
    vi.advanceTimersByTime(2_000);
  }
  expect(sent).toEqual([[1, 0.5]]);
});

it('sends the same progress again when the run has reached another step', () => {
  const { report, sent, become, present } = someProgress(first);
  report(of(0.5));
  vi.advanceTimersByTime(2_000);
  become(folded(queued(key), assigned(key), started(key), uploading(key)));
  vi.advanceTimersByTime(0);
  expect([sent.length, present()?.live_status]).toEqual([2, 'storing output files']);
});

it('sends nothing for a run that does not execute, and nothing after the close', () => {
  const { report, sent, close } = someProgress(folded(queued(key)));
  report(of(0.5));
  vi.advanceTimersByTime(2_000);
  report(of(0.6));
  close();
  vi.advanceTimersByTime(2_000);
  expect(sent).toEqual([]);
});
