import type { AttemptError } from '@runledger/contracts/events/run-error';
import { collectFiles, FILE_LIMITS } from '../output-files.ts';
import type { OutputFile, RunResult, RunnerWork } from '../runner.ts';

export interface Executed {
  readonly result: RunResult;
  /** The server can take the next run. */
  readonly isUsable: boolean;
}

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

/** Everything was written by the runner of a model server, within the limits. */
export const filesOf = async ({ outputDir }: RunnerWork): Promise<readonly OutputFile[]> =>
  (await collectFiles(outputDir, FILE_LIMITS)).files;
