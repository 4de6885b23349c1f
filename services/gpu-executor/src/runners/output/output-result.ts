import { errorOf } from '@runledger/contracts/events/run-error';
import type { LentFolders } from '../../folders/lent-folders.ts';
import { collectFiles, FILE_LIMITS, type CollectedFiles, type LeftEntry } from '../output-files.ts';
import type { RunObserver, RunnerWork, RunResult } from '../runner.ts';
import type { CollectedData, LostOutput } from './program-messages.ts';

/** Takes the files that a program has left from it. The run's log names what cannot be an output, before anything is stored. */
export const collectOutputs = async (
  lent: LentFolders,
  { outputDir }: RunnerWork,
  observe: RunObserver,
): Promise<CollectedFiles> => {
  if (!(await lent.takeBack())) return NO_FILES;
  const collected = await collectFiles(outputDir, FILE_LIMITS);
  for (const { path, why } of [...collected.skipped, ...collected.refused]) {
    observe.log({ stream: 'runner', line: `${visible(path)} is not an output: ${why}` });
  }
  return collected;
};

const NO_FILES: CollectedFiles = { files: [], skipped: [], refused: [], tooMany: null };

/** Nothing in it changes how the rest of a line is shown. */
const visible = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );

interface EndedProgram {
  readonly name: string;
  readonly output: CollectedData;
  /** A text without what clients must not see. */
  readonly hide: (text: string) => string;
}

/** The result of a program that has succeeded as far as it says: no output may be lost silently. */
export const outputResult = ({ name, output, hide }: EndedProgram, collected: CollectedFiles): RunResult => {
  const { files, tooMany, refused } = collected;
  const lost = tooMany === null ? output.lost() : tooManyFiles(tooMany, files.length);
  if (lost !== null) {
    const advice = lost.kind === 'output_too_large' ? LARGE : AS_JSON;
    return lostOutput(name, { ...lost, line: visible(hide(lost.line)) }, { files, advice });
  }
  const [first] = refused;
  return first === undefined
    ? { outcome: 'succeeded', data: output.data(), files }
    : lostOutput(name, refusedOutput(first, refused.length - 1), { files, advice: READABLE });
};

const LARGE = 'leave large results as few files in the output folder';
const AS_JSON = 'write each output as one JSON object, as json.dumps and JSON.stringify do';
const READABLE = 'leave files and folders that their owner can read, and do not move the output folder';

const lostOutput = (
  name: string,
  { kind, why, line }: LostOutput,
  { files, advice }: { readonly files: CollectedFiles['files']; readonly advice: string },
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

const refusedOutput = ({ path, why }: LeftEntry, others: number): LostOutput => {
  const what = path === '' ? 'its output folder' : `its output ${visible(path)}`;
  const more = others === 0 ? '' : `; its log names ${others} more`;
  return { kind: 'invalid_output', why: `${what} is lost: ${why}${more}`, line: '' };
};

const tooManyFiles = (tooMany: string, kept: number): LostOutput => ({
  kind: 'output_too_large',
  why: `${tooMany}: the first ${kept} by path are kept`,
  line: '',
});
