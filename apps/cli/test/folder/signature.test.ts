import { afterEach, describe, expect, it, vi } from 'vitest';
import { inputsOfFunction } from '../../src/folder/signature.ts';
import { PREDICT } from '../fixtures/code-folder.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const predict = { file: 'src/predict.py', name: 'predict', source: PREDICT };

afterEach(() => vi.unstubAllEnvs());

describe('the inputs of a function', () => {
  it('are those of its signature', async () => {
    expect(await inputsOfFunction(predict)).toMatchObject([
      { name: 'prompt', type: 'string', required: true },
      { name: 'steps', type: 'integer', default: 20 },
    ]);
  });

  it('are refused for a function that is not there, with the file', async () => {
    await expect(inputsOfFunction({ ...predict, name: 'nothing' })).rejects.toThrow(
      /^src\/predict\.py(?:, line \d+)?: .*nothing/,
    );
  });

  it('are refused for a source without lines, too', async () => {
    await expect(inputsOfFunction({ ...predict, source: '\0' })).rejects.toThrow(
      /^src\/predict\.py: The file (?:cannot|is not)/,
    );
  });

  it('are written by hand where there is no Python', async () => {
    vi.stubEnv('PATH', temporaryFolder());
    await expect(inputsOfFunction(predict)).rejects.toThrow(
      'There is no python3 on PATH, which reads the inputs of the function from its source. Install Python 3, or write the inputs in [inputs], such as prompt = { type = "string", required = true }.',
    );
  });
});
