import { describe, expect, it } from 'vitest';
import { judgeOutputs } from '../../src/attempt/end-of-attempt.decide.ts';
import type { RunResult } from '../../src/runners/runner.ts';

const EMPTY: RunResult = { outcome: 'succeeded', data: {}, files: [] };
const file = { path: '/a.png', filename: 'a.png', subfolder: '', bytes: 1, identity: '1:1' };
const node = { id: '9', class_type: 'SaveImage', title: null, output_id: null };
const warnings = [{ kind: 'no_output', message: 'Node 9 (SaveImage) made no output.', node: '9' }] as const;
const SILENT: RunResult = { ...EMPTY, files: [file], warnings };

describe('a run that has succeeded', () => {
  it('is what it is where its deployment says nothing', () => {
    expect(judgeOutputs(EMPTY)).toBe(EMPTY);
    expect(judgeOutputs(SILENT, 'warn')).toBe(SILENT);
  });

  it('has no such warnings where they are ignored', () => {
    expect(judgeOutputs(SILENT, 'ignore')).toEqual({ ...EMPTY, files: [file] });
  });

  it.each([
    ['of any runner without an output', EMPTY, 'The run made no output.'],
    ['with an output node that made none', SILENT, 'Node 9 (SaveImage) made no output.'],
  ])('fails where that is an error: %s', (_, result, why) => {
    const { files } = result as typeof EMPTY & { outcome: 'succeeded' };
    expect(judgeOutputs(result, 'error')).toMatchObject({
      outcome: 'failed',
      error: { kind: 'no_output', message: expect.stringContaining(why), retryable: true },
      files,
    });
  });

  it.each<Partial<RunResult>>([
    { files: [file] },
    { data: { text: ['x'] } },
    { nodes: [{ node, data: { text: ['x'] } }] },
  ])('stays one with an output: %j', (made) => {
    const result = { ...EMPTY, ...made } as RunResult;
    expect(judgeOutputs(result, 'error')).toBe(result);
  });
});
