import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunnerWork } from '../runner.ts';

/** The inputs of a run that are files, with the paths of these files. */
export const inputFiles = async ({
  inputDir,
  inputs,
}: Pick<RunnerWork, 'inputDir' | 'inputs'>): Promise<ReadonlyMap<string, string>> => {
  if (!existsSync(inputDir)) return new Map();
  const present = new Set(await readdir(inputDir));
  const files = new Map<string, string>();
  for (const [name, value] of Object.entries(inputs))
    if (typeof value === 'string' && present.has(value)) files.set(name, join(inputDir, value));
  return files;
};
