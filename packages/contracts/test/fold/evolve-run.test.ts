import { describe, expect, it } from 'vitest';
import { errorOf } from '../../src/events/run-error.ts';
import { evolveRun } from '../../src/fold/evolve-run.ts';
import type { RunEvent } from '../../src/events/run-event.ts';
import { isEnded, mayHaveAnother, type Run, type RunState } from '../../src/fold/run.ts';
import { anEvent, factOf, OTHER_EXECUTOR, runAfter, timeOf } from '../fixtures/run-events.ts';

const given = (...events: RunEvent[]): { run: Run; next: number } => ({
  run: runAfter(...events),
  next: events.length + 1,
});

const when = (history: { run: Run; next: number }, event: RunEvent): RunState | { impossible: string } =>
  evolveRun(history.run, factOf(event, history.next));

const queued = [anEvent('RunQueued')];
const started = [...queued, anEvent('RunAssigned')];
const running = [...started, anEvent('RunStarted')];
const uploading = [...running, anEvent('RunUploading')];
const requeued = [...running, anEvent('RunRequeued')];
const cancelling = [...running, anEvent('RunCancelRequested')];
const timedOutByExecutor = anEvent('RunFailed', { error: errorOf('run_timeout', 'it took too long') });
const notBegunByExecutor = anEvent('RunFailed', { error: errorOf('start_deadline', 'it began too late') });
const cancelOfQueued = anEvent('RunCancelRequested', {}, { attempt: 0, executor: null });

describe('the status of a run changes as the table of the API says', () => {
  it.each([
    ['(none)', 'queued', queued],
    ['queued', 'started', started],
    ['started', 'running', running],
    ['running', 'uploading', uploading],
    ['running', 'success', [...running, anEvent('RunSucceeded')]],
    ['uploading', 'success', [...uploading, anEvent('RunSucceeded')]],
    ['started', 'failed', [...started, anEvent('RunFailed')]],
    ['running', 'failed', [...running, anEvent('RunFailed')]],
    ['uploading', 'failed', [...uploading, anEvent('RunFailed')]],
    ['running', 'failed', [...running, anEvent('RunGivenUp')]],
    [
      'queued',
      'failed',
      [...queued, anEvent('RunGivenUp', { reason: 'internal_error' }, { attempt: 0, executor: null })],
    ],
    [
      'queued',
      'timeout',
      [...queued, anEvent('RunTimedOut', { reason: 'no_capacity' }, { attempt: 0, executor: null })],
    ],
    ['started', 'timeout', [...started, anEvent('RunTimedOut', { reason: 'start_deadline' })]],
    ['started', 'timeout', [...started, notBegunByExecutor]],
    ['running', 'timeout', [...running, anEvent('RunTimedOut')]],
    ['uploading', 'timeout', [...uploading, anEvent('RunTimedOut')]],
    ['running', 'timeout', [...running, timedOutByExecutor]],
    ['queued', 'cancelled', [...queued, cancelOfQueued]],
    ['running', 'cancelled', [...cancelling, anEvent('RunCancelled')]],
    ['running', 'cancelled by force', [...cancelling, anEvent('RunCancelEnforced')]],
    ['started', 'queued', [...started, anEvent('RunRequeued')]],
    ['running', 'queued', requeued],
    ['uploading', 'queued', [...uploading, anEvent('RunRequeued')]],
    ['running', 'failed', [...running, anEvent('RunExpired')]],
  ])('%s -> %s', (_from, to, events) => {
    expect(given(...events).run.status).toBe(to.replace(' by force', ''));
  });
});

describe('a run whose assignment is void', () => {
  const back = anEvent('RunAttemptFailed', { retry_after_s: 0, is_void: true });

  it('is queued again at once, and the attempt is none of those that it may have', () => {
    const { run } = given(...started, back);
    expect(run).toMatchObject({
      status: 'queued',
      not_before: null,
      earlier_attempts: [{ number: 1, is_void: true }],
    });
    const once = { ...run, request: { ...run.request, max_attempts: 1 } };
    expect(mayHaveAnother(once, 1)).toBe(true);
    expect(mayHaveAnother(once, 2)).toBe(false);
  });

  it('has not begun', () => expect(when(given(...running), back)).toHaveProperty('impossible'));
});

describe('a queued run', () => {
  it('keeps the request and the times of the broker', () => {
    const { run } = given(...queued);
    expect(run).toMatchObject({ number: 1, created_at: timeOf(1), queued_at: timeOf(1), attempt: null });
    expect(run.request.inputs).toEqual({ size: 512 });
  });

  it('ends at once by a cancel request', () => {
    expect(given(...queued, cancelOfQueued).run).toMatchObject({
      status: 'cancelled',
      end_reason: 'cancelled_by_client',
    });
  });

  it('does not end by a cancel request that names an executor', () => {
    expect(when(given(...queued), anEvent('RunCancelRequested'))).toHaveProperty('impossible');
  });

  it('is not assigned with an attempt number that does not follow', () => {
    expect(when(given(...queued), anEvent('RunAssigned', {}, { attempt: 2 }))).toHaveProperty('impossible');
  });

  it('is not assigned to an executor with an invalid id', () => {
    expect(when(given(...queued), anEvent('RunAssigned', {}, { executor: 'none' }))).toHaveProperty(
      'impossible',
    );
  });

  it('does not end by the run timeout', () => {
    const timeout = anEvent('RunTimedOut', { reason: 'run_timeout' }, { attempt: 0, executor: null });
    expect(when(given(...queued), timeout)).toHaveProperty('impossible');
  });
});

describe('a requeued run', () => {
  it('waits from the time of the requeue, without a start time, and keeps the lost attempt', () => {
    const { run } = given(...requeued);
    expect(run).toMatchObject({
      status: 'queued',
      created_at: timeOf(1),
      queued_at: timeOf(4),
      attempt: { number: 1 },
    });
    expect(run).not.toHaveProperty('started_at');
    expect(run).not.toHaveProperty('cancel');
  });

  it('is assigned as the next attempt', () => {
    const next = when(
      given(...requeued),
      anEvent('RunAssigned', {}, { attempt: 2, executor: OTHER_EXECUTOR }),
    );
    expect(next).toMatchObject({ status: 'started', attempt: { number: 2, executor_id: OTHER_EXECUTOR } });
  });

  it('accepts no fact of the lost executor', () => {
    for (const late of ['RunStarted', 'RunUploading', 'RunSucceeded', 'RunFailed', 'RunCancelled'] as const) {
      expect(when(given(...requeued), anEvent(late)), late).toHaveProperty('impossible');
    }
  });

  it('is not given up by a fact about the lost executor', () => {
    expect(when(given(...requeued), anEvent('RunGivenUp'))).toHaveProperty('impossible');
  });
});

describe('a run that outlives its log', () => {
  const none = { attempt: 0, executor: null };

  it('ends with a reason of its own, its times and its last attempt', () => {
    const { attempt } = given(...running).run;
    expect(given(...running, anEvent('RunExpired')).run).toMatchObject({
      status: 'failed',
      end_reason: 'log_expired',
      created_at: timeOf(1),
      started_at: timeOf(3),
      ended_at: timeOf(4),
      attempt,
      outputs: [],
    });
  });

  it('ends without an attempt while it waits for its first', () => {
    const waiting = anEvent('RunExpired', { attempt: null, started_at: null }, none);
    expect(given(...queued, waiting).run).toMatchObject({ end_reason: 'log_expired', attempt: null });
  });

  it('ends as cancelled when its cancel was requested', () => {
    const cancel = { requested_at: timeOf(4), by: 'client' } as const;
    expect(given(...cancelling, anEvent('RunExpired', { cancel })).run).toMatchObject({
      status: 'cancelled',
      end_reason: 'cancelled_by_client',
    });
  });

  it('is not ended by a fact that contradicts itself', () => {
    expect(when(given(...running), anEvent('RunExpired', {}, none))).toHaveProperty('impossible');
    expect(when(given(...running), anEvent('RunExpired', {}, { executor: OTHER_EXECUTOR }))).toHaveProperty(
      'impossible',
    );
  });
});

describe('a run whose cancel was requested', () => {
  it('keeps its status until it ends', () => {
    expect(given(...cancelling).run).toMatchObject({
      status: 'running',
      cancel: { requested_at: timeOf(4), by: 'client' },
    });
  });

  it('ends as cancelled only', () => {
    for (const other of [
      'RunSucceeded',
      'RunFailed',
      'RunTimedOut',
      'RunGivenUp',
      'RunRequeued',
      'RunCancelRequested',
    ] as const) {
      expect(when(given(...cancelling), anEvent(other)), other).toHaveProperty('impossible');
    }
  });

  it('keeps the outputs that were stored before the end', () => {
    const outputs = anEvent('RunSucceeded').data.outputs;
    expect(given(...cancelling, anEvent('RunCancelled', { outputs })).run).toMatchObject({
      outputs,
      end_reason: 'cancelled_by_client',
    });
  });

  it('may start and upload before it ends', () => {
    const startedLate = given(
      ...started,
      anEvent('RunCancelRequested'),
      anEvent('RunStarted'),
      anEvent('RunUploading'),
    );
    expect(startedLate.run).toMatchObject({ status: 'uploading', cancel: { by: 'client' } });
  });

  it('names the operator if an operator cancelled it', () => {
    const { run } = given(
      ...running,
      anEvent('RunCancelRequested', { by: 'operator' }),
      anEvent('RunCancelled'),
    );
    expect(run).toMatchObject({ end_reason: 'cancelled_by_operator' });
  });
});

describe('another executor', () => {
  it('cannot write facts of an attempt', () => {
    for (const type of ['RunUploading', 'RunSucceeded', 'RunFailed', 'RunRequeued', 'RunTimedOut'] as const) {
      expect(when(given(...running), anEvent(type, {}, { executor: OTHER_EXECUTOR })), type).toHaveProperty(
        'impossible',
      );
    }
  });
});

describe('an ended run', () => {
  const ends: Record<string, RunEvent[]> = {
    success: [...running, anEvent('RunSucceeded')],
    failed: [...running, anEvent('RunFailed')],
    timeout: [...running, anEvent('RunTimedOut')],
    cancelled: [...queued, cancelOfQueued],
  };

  it.each(Object.entries(ends))('accepts no fact after %s', (_status, events) => {
    const ended = given(...events);
    expect(isEnded(ended.run)).toBe(true);
    for (const type of [
      'RunQueued',
      'RunAssigned',
      'RunStarted',
      'RunSucceeded',
      'RunCancelRequested',
      'RunRequeued',
    ] as const) {
      expect(when(ended, anEvent(type)), type).toHaveProperty('impossible');
    }
  });

  it('has the bytes of the files in its outputs, or what its last attempt announced when it was lost', () => {
    const bytesAfter = (...events: readonly RunEvent[]) => given(...events).run.output_bytes;
    expect(bytesAfter(...running)).toBe(0);
    expect(bytesAfter(...uploading)).toBe(1024);
    expect(bytesAfter(...uploading, anEvent('RunSucceeded'))).toBe(1024);
    expect(bytesAfter(...uploading, anEvent('RunFailed'))).toBe(0);
    expect(bytesAfter(...uploading, anEvent('RunTimedOut'))).toBe(1024);
    expect(bytesAfter(...uploading, anEvent('RunRequeued'))).toBe(1024);
  });

  it('is the same to clients whether its scheduler or its executor ended it at its start deadline, but for the log', () => {
    const log_blob = { sha256: 'a'.repeat(64), bytes: 3 };
    const message = 'it began too late';
    const byScheduler = given(...started, anEvent('RunTimedOut', { reason: 'start_deadline', message }));
    const { data } = notBegunByExecutor;
    const byExecutor = given(...started, anEvent('RunFailed', { ...data, log_blob, progress: 0 }));
    expect(byExecutor.run).toEqual({ ...byScheduler.run, log_blob, progress: 0 });
  });

  it('has its end reason, time and outputs', () => {
    const { run } = given(...uploading, anEvent('RunSucceeded'));
    expect(run).toMatchObject({
      end_reason: 'completed',
      started_at: timeOf(3),
      ended_at: timeOf(5),
      progress: 1,
    });
    expect(given(...running, anEvent('RunFailed')).run).toMatchObject({
      error: { message: 'size is too large', kind: 'program_exit' },
      progress: 0.25,
    });
  });
});
