import { describe, expect, it } from 'vitest';
import { misspeltSentence, misspeltSettings } from '../src/misspelt-settings.ts';

const SETTINGS = ['RUNLEDGER_PORT', 'RUNLEDGER_HOST', 'EXECUTOR_GPUS', 'HTTPS_PROXY'];

describe('a setting whose name has a slip', () => {
  it.each([
    ['RUNLEDGER_PROT', 'RUNLEDGER_PORT'],
    ['RUNLEDGR_PORT', 'RUNLEDGER_PORT'],
    ['RUNLEDGER_HOSTS', 'RUNLEDGER_HOST'],
    ['EXECUTOR_GPU', 'EXECUTOR_GPUS'],
  ])('is told, with the one that is meant: %s', (variable, meant) => {
    expect(misspeltSettings(SETTINGS, { [variable]: '1' })).toEqual([{ variable, meant }]);
  });

  it.each(['RUNLEDGER_PORT', 'HTTP_PROXY', 'RUNLEDGER_API_KEY', 'PATH', 'PORT'])(
    'is not suspected in %s',
    (variable) => expect(misspeltSettings(SETTINGS, { [variable]: '1' })).toEqual([]),
  );

  it('is not told when it is not set, and never with its value', () => {
    expect(misspeltSettings(SETTINGS, { RUNLEDGER_PROT: undefined })).toEqual([]);
    const [misspelt] = misspeltSettings(SETTINGS, { RUNLEDGER_PROT: 'secret' });
    expect(misspelt && misspeltSentence(misspelt)).toBe(
      'RUNLEDGER_PROT is no setting, and nothing reads it. Is RUNLEDGER_PORT meant?',
    );
  });
});
