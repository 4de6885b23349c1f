import { rmdir } from 'node:fs/promises';
import { errorOf } from '@runledger/contracts/events/run-error';
import { collectFiles, FILE_LIMITS, type CollectedFiles, type LeftEntry } from '../output-files.ts';
import type { RunObserver, RunnerWork, RunResult } from '../runner.ts';
import type { CollectedMessages } from './collect-messages.ts';
import type { LostOutput } from './program-messages.ts';

/** The files of a run that a program has left. The run's log names entries that are not outputs. An empty folder is removed. */
export const collectOutputs = async (
  { outputDir }: Pick<RunnerWork, 'outputDir'>,
  { log }: Pick<RunObserver, 'log'>,
): Promise<CollectedFiles> => {
  // Most runs leave none. To try this takes one call, and to look three.
  if (await removesEmpty(outputDir)) return NO_FILES;
  const collected = await collectFiles(outputDir, FILE_LIMITS);
  for (const { path, why } of collected.skipped) {
    log({ stream: 'runner', line: `${shownPath(path)} is not an output: ${why}` });
  }
  return collected;
};

const NO_FILES: CollectedFiles = { files: [], skipped: [], unreadable: null, tooMany: false };

/** Nothing in it changes how the rest of a line is shown. */
const shownPath = (path: string): string =>
  path.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );

const removesEmpty = (folder: string): Promise<boolean> =>
  rmdir(folder).then(
    () => true,
    () => false,
  );

/** The result of a program that has succeeded as far as it says: no output may be lost silently. */
export const outputResult = (
  name: string,
  output: Pick<CollectedMessages, 'data' | 'lost'>,
  collected: CollectedFiles,
): RunResult => {
  const { files, tooMany, unreadable } = collected;
  const lost = tooMany ? TOO_MANY_FILES : output.lost();
  if (lost !== null) return lostOutput(name, lost, { files, advice: LARGE });
  return unreadable === null
    ? { outcome: 'succeeded', data: output.data(), files }
    : lostOutput(name, unreadableOutput(unreadable), { files, advice: READABLE });
};

const LARGE = 'leave large results as few files in the output folder';
const READABLE = 'leave files and folders that their owner can read, and do not move the output folder';

const lostOutput = (
  name: string,
  { kind, why }: LostOutput,
  { files, advice }: Pick<CollectedFiles, 'files'> & { readonly advice: string },
): RunResult => {
  const error = errorOf(kind, `The program ${name} succeeded, but ${why}; ${advice}.`);
  return { outcome: 'failed', error, files };
};

const unreadableOutput = ({ path, why }: LeftEntry): LostOutput => {
  const what = path === '' ? 'its output folder' : `its output ${shownPath(path)}`;
  return { kind: 'invalid_output', why: `${what} is lost: ${why}` };
};

const TOO_MANY_FILES: LostOutput = {
  kind: 'output_too_large',
  why: 'it left more files than a run may have',
};
