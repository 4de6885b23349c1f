import { describe, expect, it } from 'vitest';
import { progressLine, progressSentence, type RunResponse } from '../../src/runs/run-response.ts';

const run: RunResponse = {
  id: 'r',
  status: 'running',
  progress: 0.4,
  live_status: 'row 200/500',
  created_at: '2026-05-01T12:00:00.000Z',
  updated_at: '2026-05-01T12:00:00.000Z',
  started_at: null,
  ended_at: null,
  duration: null,
  gpu: null,
  outputs: [],
};

describe('a run in one line', () => {
  it('has a bar, the percentage and the live status', () => {
    expect(progressLine(run, 80)).toBe('[############..................]  40 %  running  row 200/500');
  });

  it('does not repeat the status', () => {
    expect(progressSentence({ ...run, live_status: 'running' })).toBe('running 40 %');
    expect(progressLine({ ...run, live_status: null }, 80)).toMatch(/40 % {2}running$/);
  });

  it('is narrower than the terminal, without control characters of a program', () => {
    const line = progressLine({ ...run, live_status: `\u001B[2J${'x'.repeat(200)}` }, 60);
    expect(line).toHaveLength(59);
    expect(line).not.toContain('\u001B');
  });

  it.each([-1, 7, Number.NaN])('survives a progress of %d', (progress) => {
    expect(progressLine({ ...run, progress }, 80)).toMatch(/^\[[#.]*\]/);
  });
});
