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
    log({ stream: 'runner', line: `${visible(path)} is not an output: ${why}` });
  }
  return collected;
};

const NO_FILES: CollectedFiles = { files: [], skipped: [], unreadable: null, tooMany: false };

/** Nothing in it changes how the rest of a line is shown. */
const visible = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );

interface EndedProgram {
  readonly name: string;
  readonly output: Pick<CollectedMessages, 'data' | 'lost'>;
  /** A text without what clients must not see. */
  readonly hide: (text: string) => string;
}

/** The result of a program that has succeeded as far as it says: no output may be lost silently. */
export const outputResult = ({ name, output, hide }: EndedProgram, collected: CollectedFiles): RunResult => {
  const { files, tooMany, unreadable } = collected;
  const lost = tooMany ? TOO_MANY_FILES : output.lost();
  if (lost !== null) {
    const advice = lost.kind === 'output_too_large' ? LARGE : AS_JSON;
    return lostOutput(name, { ...lost, line: visible(hide(lost.line)) }, { files, advice });
  }
  return unreadable === null
    ? { outcome: 'succeeded', data: output.data(), files }
    : lostOutput(name, unreadableOutput(unreadable), { files, advice: READABLE });
};

const LARGE = 'leave large results as few files in the output folder';
const AS_JSON = 'write each output as one JSON object, as json.dumps and JSON.stringify do';
const READABLE = 'leave files and folders that their owner can read, and do not move the output folder';

const lostOutput = (
  name: string,
  { kind, why, line }: LostOutput,
  { files, advice }: Pick<CollectedFiles, 'files'> & { readonly advice: string },
): RunResult => {
  const shown = line.length > MAX_SHOWN_LINE ? `${line.slice(0, MAX_SHOWN_LINE).toWellFormed()}…` : line;
  const written = line === '' ? '' : ` It wrote: ${shown}`;
  return {
    outcome: 'failed',
    error: errorOf(kind, `The program ${name} succeeded, but ${why}; ${advice}.${written}`),
    files,
  };
};

/** Characters. With the sentence before it, it fits into an event. */
const MAX_SHOWN_LINE = 300;

const unreadableOutput = ({ path, why }: LeftEntry): LostOutput => {
  const what = path === '' ? 'its output folder' : `its output ${visible(path)}`;
  return { kind: 'invalid_output', why: `${what} is lost: ${why}`, line: '' };
};

const TOO_MANY_FILES: LostOutput = {
  kind: 'output_too_large',
  why: 'it left more files than a run may have',
  line: '',
};
