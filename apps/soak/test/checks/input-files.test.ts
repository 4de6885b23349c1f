import { assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { inputFiles } from '../../src/checks/input-files.ts';
import { inputFileOf } from '../../src/clients/client-context.ts';
import { aSoak, INPUTS, output, RUN } from '../fixtures/a-soak.ts';

const FILE = '01920000-0000-7000-8000-0000000000f1';
const sha256 = createHash('sha256')
  .update(JSON.stringify(inputFileOf(1)))
  .digest('hex');
const messagesOf = (inputs: object, ...texts: readonly string[]): string[] => {
  const end = succeeded(RUN, texts.map(output));
  const events = [queued(RUN, { inputs: { ...INPUTS, ...inputs } }), assigned(RUN), started(RUN), end];
  return inputFiles(aSoak({ events })).map(({ message }) => message);
};

describe('input files', () => {
  it('are those that the clients uploaded', () => {
    expect(messagesOf({ file: FILE }, `input ${sha256}`)).toEqual([]);
    expect(messagesOf({ file: FILE }, `input ${'0'.repeat(64)}`)).toEqual([
      expect.stringContaining('expected'),
    ]);
    expect(messagesOf({ file: FILE })).toEqual([expect.stringContaining('found []')]);
  });

  it('belong to runs that name them', () => {
    expect(messagesOf({})).toEqual([]);
    expect(messagesOf({}, `input ${sha256}`)).toEqual([expect.stringContaining('expected []')]);
  });
});
