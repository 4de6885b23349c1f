import { errorOf } from '@runledger/contracts/events/run-error';
import type { LentFolders } from '../../supervision/lent-folders.ts';
import { collectFiles, FILE_LIMITS, type CollectedFiles, type LeftEntry } from '../output-files.ts';
import type { RunObserver, RunnerWork, RunResult } from '../runner.ts';
import type { CollectedMessages } from './collect-messages.ts';
import type { LostOutput } from './program-messages.ts';

/** Takes the files that a program has left from it. The run's log names entries that are not outputs. */
export const collectOutputs = async (
  lent: LentFolders,
  { outputDir }: Pick<RunnerWork, 'outputDir'>,
  { log }: Pick<RunObserver, 'log'>,
): Promise<CollectedFiles> => {
  if (!(await lent.takeBack())) return NO_FILES;
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
