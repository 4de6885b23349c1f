import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunnerWork } from '../../src/runner/runner.ts';
import type { StartOptions } from './runner-conformance.ts';

/** The folders of a run in one slot, with its input files, as the executor makes them. */
export const runFolders = (
  workFolder: string,
  { slot = 0, nth = 0, inputFiles = {} }: StartOptions,
): Pick<RunnerWork, 'inputDir' | 'outputDir'> => {
  const folder = (name: string): string => {
    const path = join(workFolder, slot + nth === 0 ? name : `${name}-${slot}-${nth}`);
    mkdirSync(path, { mode: 0o700 });
    return path;
  };
  const [inputDir, outputDir] = [folder('inputs'), folder('outputs')];
  for (const [name, content] of Object.entries(inputFiles)) writeFileSync(join(inputDir, name), content);
  return { inputDir, outputDir };
};
