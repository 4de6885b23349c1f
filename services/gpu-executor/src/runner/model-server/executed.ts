import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { collectFiles, FILE_LIMITS } from '../../runners/output-files.ts';
import type { OutputFile, RunData, RunResult, RunnerWork } from '../../runners/runner.ts';

export interface Executed {
  readonly result: RunResult;
  /** The server can take the next run. */
  readonly isUsable: boolean;
}

/** Everything in the output folder was written by the runner, within the limits: only somebody else could make it unreadable. */
export const succeeded = async (work: RunnerWork, data: RunData): Promise<Executed> => {
  const { files, refused } = await collectFiles(work.outputDir, FILE_LIMITS);
  const [first] = refused;
  if (first === undefined) return { result: { outcome: 'succeeded', data, files }, isUsable: true };
  const message = `The run succeeded, but somebody changed its output folder: ${first.why}.`;
  return { result: { outcome: 'failed', error: errorOf('invalid_output', message), files }, isUsable: true };
};

/** With the files that exist by then. */
export const failed = async (
  work: RunnerWork,
  error: AttemptError,
  { isUsable }: Pick<Executed, 'isUsable'>,
): Promise<Executed> => ({ result: { outcome: 'failed', error, files: await filesOf(work) }, isUsable });

export const cancelled = async (work: RunnerWork, forced: boolean): Promise<RunResult> => ({
  outcome: 'cancelled',
  forced,
  files: await filesOf(work),
});

const filesOf = async ({ outputDir }: RunnerWork): Promise<readonly OutputFile[]> =>
  (await collectFiles(outputDir, FILE_LIMITS)).files;
