import { rmdir } from 'node:fs/promises';
import { errorOf } from '@runledger/contracts/events/run-error';
import { collectFiles, FILE_LIMITS, type CollectedFiles } from '../output-files.ts';
import type { RunnerWork, RunResult } from '../runner.ts';
import type { CollectedMessages } from './collect-messages.ts';
import type { LostOutput } from './program-messages.ts';

/** The files of a run that a program has left. Entries that are not outputs are logged. An empty folder is removed. */
export const collectOutputs = async (
  { run_id, outputDir }: Pick<RunnerWork, 'run_id' | 'outputDir'>,
  log: { warn(fields: object, message: string): void },
): Promise<CollectedFiles> => {
  // Most runs leave none. To try this takes one call, and to look three.
  if (await removesEmpty(outputDir)) return { files: [], skipped: [], tooMany: false };
  const collected = await collectFiles(outputDir, FILE_LIMITS);
  for (const skipped of collected.skipped) {
    log.warn({ run_id, ...skipped }, 'an entry of the output folder is not an output');
  }
  return collected;
};

const removesEmpty = (folder: string): Promise<boolean> =>
  rmdir(folder).then(
    () => true,
    () => false,
  );

/** The result of a program that has succeeded as far as it says: no output may be lost silently. */
export const outputResult = (
  name: string,
  output: Pick<CollectedMessages, 'data' | 'lost'>,
  { files, tooMany }: CollectedFiles,
): RunResult => {
  const lost = tooMany ? TOO_MANY_FILES : output.lost();
  if (lost === null) return { outcome: 'succeeded', data: output.data(), files };
  const advice = 'leave large results as few files in the output folder';
  const message = `The program ${name} succeeded, but ${lost.why}; ${advice}.`;
  return { outcome: 'failed', error: errorOf(lost.kind, message), files };
};

const TOO_MANY_FILES: LostOutput = {
  kind: 'output_too_large',
  why: 'it left more files than a run may have',
};
