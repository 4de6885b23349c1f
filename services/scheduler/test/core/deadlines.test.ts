import { describe, expect, it } from 'vitest';
import {
  executor,
  queued,
  stored,
  timedOut,
  started,
  succeeded,
  cancelRequested,
  left,
  heartbeatOf,
  noHeartbeats,
  passed,
  running,
  uploading,
} from './steps.ts';
import { uploadTimeoutS } from '@runledger/contracts/limits';
import { assignedEvent } from '../../src/core/decision.ts';
import { ENFORCE_MS, given, PERIOD_MS, TestBed, type Step } from './test-bed.ts';

describe('a deadline', () => {
  it('ends a run that waits longer than its start deadline', () =>
    expect(
      given(...running('one', 'box'), queued('two', { startDeadlineS: 10 })).when(passed(10_000, 'box')),
    ).toEqual(['two is timed out: start_deadline']));

  it('ends a run that no executor could ever take with no_capacity', () =>
    expect(
      given(executor('box'), queued('one', { gpu: 'H100', startDeadlineS: 10 })).when(passed(10_000, 'box')),
    ).toEqual(['one is timed out: no_capacity']));

  it('ends a run that its executor did not begin, when its executor did not end it', () => {
    const before = [executor('box'), queued('one', { startDeadlineS: 10 }), stored, passed(4_000, 'box')];
    const left = 6_000 + ENFORCE_MS;
    expect(given(...before).when(passed(left - 500, 'box'))).toEqual([]);
    expect(given(...before).when(passed(left, 'box'))).toEqual(['one is timed out: start_deadline']);
    expect(
      given(...before, passed(7_000, 'box'), timedOut('one', 'start_deadline')).when(passed(left, 'box')),
    ).toEqual([]);
  });

  it('is told to the executor, as from when the run began to wait', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [queued('one', { startDeadlineS: 10 }), passed(4_000), executor('box')]) step(bed);
    const [decision] = bed.open;
    if (decision?.type !== 'assign') throw new Error('it is not assigned');
    const none = { slot_allocation_id: '', inputs: {}, inputs_blob: null };
    const { data } = assignedEvent(decision, { event_id: '', time: '', instance: '' }, none);
    expect(data.start_deadline).toEqual({ since: '2026-01-01T00:00:00.000Z', within_s: 10 });
  });

  it('ends a run that executes longer than its time limit, counted from its start, when its executor did not', () => {
    const before = [
      executor('box'),
      queued('one', { runTimeoutS: 10 }),
      stored,
      passed(5_000, 'box'),
      started('one'),
    ];
    const whole = 10_000 + ENFORCE_MS;
    expect(given(...before).when(passed(whole - 500, 'box'))).toEqual([]);
    expect(given(...before).when(passed(whole, 'box'))).toEqual(['one is timed out: run_timeout']);
    expect(given(...before, passed(11_000, 'box'), timedOut('one')).when(passed(whole, 'box'))).toEqual([]);
  });

  it('does not count the time in which files are stored, which has a limit of its own', () => {
    const before = [...running('one', 'box', { runTimeoutS: 10 }), passed(9_000, 'box'), uploading('one', 1)];
    const limitMs = uploadTimeoutS(1) * 1_000 + ENFORCE_MS;
    expect(limitMs).toBe(3_620_000);
    expect(given(...before).when(passed(limitMs - 1_000, 'box'))).toEqual([]);
    expect(given(...before).when(passed(limitMs, 'box'))).toEqual(['one is timed out: run_timeout']);
  });

  it('starts again when a run is requeued', () =>
    expect(
      given(...running('one', 'box', { startDeadlineS: 10 }), passed(8_000, 'box'), left('box'), stored).when(
        noHeartbeats(9_500),
      ),
    ).toEqual([]));

  it('enforces a cancel that the executor ignores', () =>
    expect(
      given(...running('one', 'box', { runTimeoutS: 5 }), cancelRequested('one')).when(
        passed(ENFORCE_MS, 'box'),
      ),
    ).toEqual(['the cancel of one is enforced']));

  it('ends no run before a full period after a reconnect: its executor may have finished it', () => {
    expect(
      given(...running('one', 'box', { runTimeoutS: 10 })).when((bed) => bed.tickAfter(10_000 + ENFORCE_MS)),
    ).toEqual(['one is timed out: run_timeout']);
    const before: Step[] = [
      ...running('one', 'box', { runTimeoutS: 10 }),
      (bed) => {
        bed.nowMs += 10_000 + ENFORCE_MS;
        bed.reset('reconnect');
      },
    ];
    expect(given(...before).when(passed(PERIOD_MS - 500, 'box'))).toEqual([]);
    expect(given(...before).when(passed(PERIOD_MS, 'box'))).toEqual(['one is timed out: run_timeout']);
    expect(given(...before, passed(1_000, 'box'), succeeded('one')).when(passed(PERIOD_MS, 'box'))).toEqual(
      [],
    );
  });

  it('ends no run that has ended', () =>
    expect(
      given(...running('one', 'box', { runTimeoutS: 10 }), succeeded('one')).when(passed(60_000, 'box')),
    ).toEqual([]));
});

describe('a scheduler that stands by', () => {
  it('decides only once it leads', () =>
    expect(
      given(
        (bed) => bed.standBy(),
        queued('one'),
        executor('box'),
        (bed) => {
          expect(bed.open).toEqual([]);
          bed.lead();
        },
      ).when(heartbeatOf('box')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));

  it('drops its open decisions', () =>
    expect(
      given(
        executor('box'),
        queued('one'),
        (bed) => bed.standBy(),
        (bed) => bed.lead(),
      ).when(heartbeatOf('box')),
    ).toEqual(['one is assigned to box slot 0, attempt 1']));
});
