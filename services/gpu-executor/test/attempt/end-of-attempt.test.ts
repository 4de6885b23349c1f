import { RETRY_KINDS, errorOf } from '@runledger/contracts/events/run-error';
import { aRun, assigned, EXECUTOR } from '@runledger/testing/run-events';
import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { describe, expect, it } from 'vitest';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';
import {
  begin,
  beginStoring,
  endOf,
  giveBack,
  retryAfterOf,
  startedTooLate,
  timedOut,
  type Ending,
} from '../../src/attempt/end-of-attempt.decide.ts';
import type { Assignment } from '../../src/attempt/assignment.decide.ts';
import { runOutputs } from '../../src/attempt/run-outputs.decide.ts';

const started: AttemptUnderWay = { status: 'started', cancel: null };
const running: AttemptUnderWay = { ...started, status: 'running' };
const cancelled: AttemptUnderWay = {
  ...running,
  cancel: { requested_at: '2026-01-01T00:00:00.000Z', by: 'client' },
};

const file: StoredFile = {
  key: 'k'.repeat(43),
  filename: 'a.png',
  subfolder: '',
  content_type: 'image/png',
  bytes: 3,
  sha256: 'a'.repeat(64),
  type: 'output',
  upload_duration: 0.1,
};
const SOURCE = { id: 'id', outputId: 'render', node: null };
const outputs = runOutputs(
  { id: '01920000-0000-7000-8000-000000000001', outputId: 'render', node: null },
  { text: ['done'] },
  [file],
);
const listed = { outputs, outputs_blob: null };
const succeeded: Ending = {
  result: { outcome: 'succeeded', data: {}, files: [] },
  storing: { kind: 'stored' },
  outputs: listed,
  progress: 1,
  retryAfterS: () => null,
};

describe('an attempt whose assignment is void', () => {
  it('is given back, unless it has begun or its run is cancelled', () => {
    expect(giveBack(started)).toMatchObject({
      type: 'RunAttemptFailed',
      data: { retry_after_s: 0, is_void: true, error: { kind: 'not_runnable' } },
    });
    expect(giveBack(running)).toBeNull();
    expect(giveBack({ ...started, cancel: cancelled.cancel })).toMatchObject({ type: 'RunCancelled' });
  });
});

describe('an attempt', () => {
  it('begins once, and not after a cancel request', () => {
    expect(begin(started, 1_234.56, null, null)).toEqual({
      type: 'RunStarted',
      data: { cold_start_s: 1.235 },
    });
    const code_sha256 = 'a'.repeat(64);
    expect(begin(started, 0, code_sha256, null)?.data).toEqual({ cold_start_s: 0, code_sha256 });
    const environment_sha256 = 'e'.repeat(64);
    expect(begin(started, 0, code_sha256, environment_sha256)?.data).toMatchObject({ environment_sha256 });
    const preparing = { fetchMs: 200.4, environmentMs: 900, weightsMs: 0 };
    expect(begin(started, 1_234.56, null, null, preparing)?.data).toEqual({
      cold_start_s: 1.235,
      cold_start_parts_s: { fetch: 0.2, environment: 0.9, weights: 0, load: 0.134 },
    });
    expect(begin(running, 0, null, null)).toBeNull();
    expect(begin({ ...started, cancel: cancelled.cancel }, 0, null, null)).toBeNull();
  });

  it('announces its files before it stores them', () => {
    expect(beginStoring(running, 2, 30)).toEqual({ type: 'RunUploading', data: { files: 2, bytes: 30 } });
    expect(beginStoring(cancelled, 2, 30)).toBeNull();
  });

  it('ends as its workflow did', () => {
    const failed = {
      outcome: 'failed',
      error: errorOf('program_exit', 'no memory', { exit_code: 1 }),
      files: [],
    } as const;
    expect(endOf(running, succeeded)).toEqual({ type: 'RunSucceeded', data: listed });
    expect(endOf(running, { ...succeeded, result: failed, progress: 0.5 })).toEqual({
      type: 'RunFailed',
      data: { error: failed.error, ...listed, progress: 0.5 },
    });
    expect(
      endOf(started, { ...succeeded, result: { outcome: 'not_runnable', why: 'no such program' } }),
    ).toMatchObject({
      type: 'RunFailed',
      data: { error: { kind: 'not_runnable', message: 'no such program' } },
    });
  });

  it('ends with its log at its time limit, and as cancelled when that was requested meanwhile', () => {
    const log_blob = { sha256: 'a'.repeat(64), bytes: 3 };
    const ending: Ending = { ...succeeded, result: timedOut({ forced: true }, 60), progress: 0.5, log_blob };
    expect(endOf(running, ending)).toEqual({
      type: 'RunFailed',
      data: {
        error: {
          kind: 'run_timeout',
          message: expect.stringMatching(/limit of 60 s and was killed, .*longer run_timeout_s/),
          retryable: false,
        },
        ...listed,
        log_blob,
        progress: 0.5,
      },
    });
    expect(endOf(cancelled, ending)).toMatchObject({
      type: 'RunCancelled',
      data: { forced: true, log_blob },
    });
  });

  it('ends with its log when it begins too late, without another attempt', () => {
    const log_blob = { sha256: 'a'.repeat(64), bytes: 3 };
    const event = assigned(aRun(), {
      data: {
        start_deadline: { since: '2026-01-01T00:00:00.000Z', within_s: 90 },
        retry_on: [...RETRY_KINDS],
      },
    });
    const assignment: Assignment = { ...aRun(), attempt: 1, executor_id: EXECUTOR, event, startWithinS: 0 };
    const ending: Ending = {
      ...succeeded,
      result: startedTooLate(assignment),
      retryAfterS: retryAfterOf(assignment, 0),
      log_blob,
    };
    expect(endOf(started, ending)).toMatchObject({
      type: 'RunFailed',
      data: {
        error: {
          kind: 'start_deadline',
          message: expect.stringMatching(/start deadline of 90 s.* longer start_deadline_s/),
          retryable: true,
        },
        log_blob,
      },
    });
  });

  it('ends as cancelled after a cancel request, whatever its workflow did', () => {
    expect(endOf(cancelled, succeeded)).toEqual({
      type: 'RunCancelled',
      data: { forced: false, ...listed, progress: 1 },
    });
    const killed: Ending = { ...succeeded, result: { outcome: 'cancelled', forced: true, files: [] } };
    expect(endOf(cancelled, killed)).toMatchObject({ data: { forced: true } });
  });

  it('fails when its files cannot be stored', () => {
    const storing: Ending['storing'] = {
      kind: 'refused',
      error: errorOf('output_too_large', 'a.png is too large'),
    };
    expect(endOf(running, { ...succeeded, storing })).toMatchObject({
      type: 'RunFailed',
      data: { error: { kind: 'output_too_large', message: 'a.png is too large' } },
    });
  });

  it('is followed by another one when the deployment tries again after its error', () => {
    const error = errorOf('crashed', 'it is gone');
    const result = { outcome: 'failed', error, files: [] } as const;
    const ending: Ending = {
      ...succeeded,
      result,
      retryAfterS: ({ kind }) => (kind === 'crashed' ? 1.5 : null),
    };
    expect(endOf(running, ending)).toEqual({ type: 'RunAttemptFailed', data: { error, retry_after_s: 1.5 } });
    expect(endOf(cancelled, ending)).toMatchObject({ type: 'RunCancelled' });
  });

  it('stores nothing when the executor itself stopped it', () => {
    expect(
      endOf(running, { ...succeeded, result: { outcome: 'cancelled', forced: false, files: [] } }),
    ).toBeNull();
    expect(endOf(running, { ...succeeded, storing: { kind: 'stopped' } })).toBeNull();
  });

  it('keeps the beginning of a message that is too long', () => {
    const message = `the reason${'x'.repeat(9_000)}`;
    const draft = endOf(running, { ...succeeded, result: { outcome: 'not_runnable', why: message } });
    expect(draft?.type === 'RunFailed' && draft.data.error.message).toMatch(/^the reasonx+$/);
    expect(draft?.type === 'RunFailed' && draft.data.error.message.length).toBe(2 * 1024);
  });
});

describe('the outputs of a run', () => {
  it('are one item with the texts and the files by kind', () => {
    expect(outputs).toEqual([
      expect.objectContaining({ output_id: 'render', data: { text: ['done'], images: [file] } }),
    ]);
    const kinds = ['video/mp4', 'audio/wav', 'model/gltf-binary'].map((content_type) => ({
      ...file,
      content_type,
    }));
    expect(Object.keys(runOutputs(SOURCE, {}, kinds)[0]?.data ?? {})).toEqual(['videos', 'audio', 'files']);
  });

  it('are none without either', () => {
    expect(runOutputs(SOURCE, {}, [])).toEqual([]);
  });
});
