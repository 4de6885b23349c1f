import { describe, expect, it } from 'vitest';
import {
  readHealth,
  endOfPrediction,
  readPrediction,
  refusal,
} from '../../../src/runners/cog/prediction.decide.ts';
import { serverLine } from '../../../src/runners/cog/server-log.decide.ts';

const errorOfEnd = (error: string): unknown => {
  const end = endOfPrediction({ status: 'failed', error, logs: '', output: null }, 'painter');
  return end?.kind === 'failed' ? [end.error.kind, end.error.message, end.isWorkerGone] : end;
};

describe('the state of a prediction', () => {
  it('is read with what it has', () => {
    expect(readPrediction('{"id":"a","status":"starting"}')).toEqual({
      status: 'starting',
      logs: '',
      output: null,
      error: '',
    });
    expect(readPrediction('{"error":"At capacity"}')).toBeNull();
    expect(readPrediction('<html>')).toBeNull();
  });

  it.each([
    [
      'Prediction failed: Prediction failed: ValueError: no such style',
      ['execution_error', 'ValueError: no such style', false],
    ],
    [
      'Prediction failed: Generator iteration error: ValueError: late',
      ['execution_error', 'ValueError: late', false],
    ],
    ['Prediction failed: SystemExit: 3', ['execution_error', 'SystemExit: 3', false]],
    [
      'Prediction failed: torch.cuda.OutOfMemoryError: CUDA out of memory.',
      ['out_of_memory', 'torch.cuda.OutOfMemoryError: CUDA out of memory.', false],
    ],
    [
      'Input validation error: Input must be a JSON object',
      ['invalid_inputs', 'Input validation error: Input must be a JSON object', false],
    ],
    ['Worker crashed', ['crashed', 'The worker of the Cog model painter crashed.', true]],
    ['', ['execution_error', 'The Cog model painter says that the run has failed, and not why.', false]],
  ])('names its error: %s', (error, expected) => {
    expect(errorOfEnd(error)).toEqual(expected);
  });

  it.each([
    [409, '{"error":"At capacity"}', null],
    [503, '', null],
    [
      422,
      '{"detail":[{"loc":["body","input","n"],"msg":"99 is greater than the maximum of 50"}]}',
      [
        'invalid_inputs',
        'The Cog model painter refuses the inputs: input.n: 99 is greater than the maximum of 50',
      ],
    ],
    [
      500,
      'oops',
      ['execution_error', 'The server of the Cog model painter refuses the run with status 500: oops'],
    ],
  ])('is refused with status %i', (status, text, expected) => {
    const error = refusal(status, text, 'painter');
    expect(error && [error.kind, error.message]).toEqual(expected);
  });
});

describe('the health of a server', () => {
  it.each([
    ['{"status":"READY"}', { kind: 'ready' }],
    ['{"status":"BUSY"}', { kind: 'busy' }],
    ['{"status":"STARTING"}', { kind: 'starting' }],
    ['{"status":"UNHEALTHY"}', { kind: 'broken', status: 'UNHEALTHY' }],
    [
      '{"status":"SETUP_FAILED","setup":{"logs":"no weights\\n"}}',
      { kind: 'setup_failed', logs: 'no weights' },
    ],
    ['<html>', null],
  ])('is read: %s', (text, expected) => {
    expect(readHealth(text)).toEqual(expected);
  });

  it('has the end of what a setup printed', () => {
    const logs = `${'x'.repeat(5_000)}no weights`;
    const health = readHealth(JSON.stringify({ status: 'SETUP_FAILED', setup: { logs } }));
    expect(health).toMatchObject({ logs: expect.stringMatching(/^…x+no weights$/) });
  });
});

describe('a line of a server', () => {
  it.each([
    ['{"level":"INFO","fields":{"message":"Server ready"},"target":"coglet"}', 'Server ready'],
    ['{"level":"INFO"}', '{"level":"INFO"}'],
    ['Traceback (most recent call last):', 'Traceback (most recent call last):'],
  ])('is its message: %s', (line, shown) => {
    expect(serverLine(line)).toBe(shown);
  });
});
