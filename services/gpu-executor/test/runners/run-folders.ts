import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RunnerWork } from '../../src/runners/runner.ts';
import type { StartOptions } from './runner-conformance.ts';

/** The folders of a run in one slot, with its input files: without any, the executor makes none. */
export const runFolders = (
  workFolder: string,
  { slot = 0, nth = 0, inputFiles = {}, fileInputs = [], secretInputs = [], secrets = {} }: StartOptions,
): Pick<RunnerWork, 'inputDir' | 'outputDir' | 'fileInputs' | 'secretInputs' | 'secrets'> => {
  const folder = (name: string): string =>
    join(workFolder, slot + nth === 0 ? name : `${name}-${slot}-${nth}`);
  const [inputDir, outputDir] = [folder('inputs'), folder('outputs')];
  if (Object.keys(inputFiles).length > 0) mkdirSync(inputDir, { mode: 0o700 });
  for (const [name, content] of Object.entries(inputFiles)) {
    mkdirSync(dirname(join(inputDir, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(inputDir, name), content);
  }
  return { inputDir, outputDir, fileInputs, secretInputs, secrets };
};
