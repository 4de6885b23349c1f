import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { Run } from '@runledger/contracts/fold/run';
import { assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { runTimes } from '../../../src/runs/run-response.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';
import { key } from '../../fixtures/runs/run-situations.ts';

const run = (created_at: string, queued_at: string, started_at: string, ended_at: string): Run => ({
  ...folded(queued(key)),
  created_at,
  queued_at,
  updated_at: ended_at,
  status: 'success',
  end_reason: 'completed',
  attempt: null,
  started_at,
  cold_start_s: 0.04,
  ended_at,
  outputs: [],
  outputs_blob: null,
  deleted_outputs: null,
  error: null,
  progress: 1,
});

const begunAfter = (data: RunEventOf<'RunStarted'>['data']): RunEventOf<'RunStarted'> => ({
  ...started(key),
  data,
});

describe('durations', () => {
  it('are seconds, to the millisecond', () => {
    const times = runTimes(
      run(
        '2026-01-31T23:59:59.999Z',
        '2026-02-01T00:00:00.000Z',
        '2026-02-01T00:00:00.100Z',
        '2026-02-01T00:00:00.401Z',
      ),
    );
    expect(times).toMatchObject({
      duration: 0.402,
      cold_start_duration: 0.04,
      cold_start_duration_total: 0.101,
      run_duration: 0.301,
    });
  });

  it('have the time for loading of the last attempt, which is 0 when it was warm', () => {
    const events = [queued(key), assigned(key)];
    expect(runTimes(folded(...events))).toMatchObject({ started_at: null, cold_start_duration: null });
    expect(runTimes(folded(...events, started(key)))).toMatchObject({ cold_start_duration: 0 });
  });

  it('have the parts of the time for loading, which is all of it but for code of a version', () => {
    const events = [queued(key), assigned(key)];
    expect(runTimes(folded(...events)).cold_start_parts).toBeNull();
    const none = { fetch: 0, environment: 0, weights: 0 };
    expect(runTimes(folded(...events, begunAfter({ cold_start_s: 1.5 }))).cold_start_parts).toEqual({
      ...none,
      load: 1.5,
    });
    const cold_start_parts_s = { fetch: 0.2, environment: 9.1, weights: 2.5, load: 0.5 };
    const prepared = begunAfter({ cold_start_s: 12.3, cold_start_parts_s });
    expect(runTimes(folded(...events, prepared))).toMatchObject({
      cold_start_duration: 12.3,
      cold_start_parts: cold_start_parts_s,
    });
    expect(runTimes(folded(...events, prepared, succeeded(key))).cold_start_parts).toEqual(
      cold_start_parts_s,
    );
  });

  it('may be days, or 0', () => {
    const created = '2026-01-01T00:00:00.000Z';
    const end = '2026-01-07T00:00:00.001Z';
    expect(runTimes(run(created, created, created, end))).toMatchObject({
      duration: 518_400.001,
      cold_start_duration: 0.04,
      cold_start_duration_total: 0,
      run_duration: 518_400.001,
    });
  });
});
