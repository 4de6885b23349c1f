import type { Logger } from '@runledger/event-log/connect/observability';
import { errorMessage, errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import type { RunObserver, RunResult, RunnerWork, OutputFile, RunData } from '../runner.ts';
import type { AcquiredServer, ModelServer, ServerLease } from './model-server.ts';
import { collectFiles, FILE_LIMITS } from '../output-files.ts';

export interface ServerRun<Api> {
  readonly server: ModelServer<Api>;
  /** What is loaded, such as the name of a model. */
  readonly title: string;
  readonly work: RunnerWork;
  readonly observe: RunObserver;
  readonly log: Logger;
}

/** Executes a run that has begun. It need not hide anything of the server. */
export type ExecuteOn<Api> = (lease: ServerLease<Api>, observe: RunObserver) => Promise<Executed>;

/** Executes a run on a server, from waiting for it to giving it back. */
export const runOnServer = async <Api>(
  run: ServerRun<Api>,
  execute: ExecuteOn<Api>,
  signal: AbortSignal,
): Promise<RunResult> => {
  const { title, work, log } = run;
  const acquired = await acquire(run, signal);
  if (acquired.kind === 'cancelled') return CANCELLED;
  if (acquired.kind === 'refused') return { outcome: 'failed', error: acquired.error, files: [] };
  const { lease } = acquired;
  let executed: Executed | null = null;
  try {
    executed = await executeOn(lease, run, execute, signal);
    return withoutHidden(executed.result, lease);
  } finally {
    if (executed?.isUsable) await lease.release();
    else {
      const outcome = executed?.result.outcome ?? 'no result';
      const fields = { run_id: work.run_id, slot: work.slot.index, server: title, outcome };
      log.warn(fields, 'a model server cannot be used further');
      await lease.discard();
    }
  }
};

const CANCELLED: RunResult = { outcome: 'cancelled', forced: false, files: [] };

const acquire = async <Api>(
  { server, title, work, observe }: ServerRun<Api>,
  signal: AbortSignal,
): Promise<AcquiredServer<Api>> => {
  let isLoading = false;
  const onLoading = (): void => {
    isLoading = true;
    observe.progress({ progress: 0, live_status: `loading ${title}` });
  };
  const acquired = await server.acquire(
    { run: work, onLoading, onLine: (line) => observe.log(line) },
    signal,
  );
  if (isLoading) observe.progress({ progress: 0, live_status: null });
  return acquired;
};

const executeOn = async <Api>(
  lease: ServerLease<Api>,
  { observe }: ServerRun<Api>,
  execute: ExecuteOn<Api>,
  signal: AbortSignal,
): Promise<Executed> => {
  if (signal.aborted || !(await observe.begin(lease.loadingMs, null)))
    return { result: CANCELLED, isUsable: true };
  const log: RunObserver['log'] = ({ stream, line }) => observe.log({ stream, line: lease.hide(line) });
  return execute(lease, { ...observe, log });
};

const withoutHidden = (result: RunResult, { hide }: ServerLease<unknown>): RunResult =>
  result.outcome === 'failed'
    ? { ...result, error: { ...result.error, message: errorMessage(hide(result.error.message)) } }
    : result;

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
  { isUsable }: { readonly isUsable: boolean },
): Promise<Executed> => ({ result: { outcome: 'failed', error, files: await filesOf(work) }, isUsable });

export const cancelled = async (work: RunnerWork, forced: boolean): Promise<RunResult> => ({
  outcome: 'cancelled',
  forced,
  files: await filesOf(work),
});

const filesOf = async ({ outputDir }: RunnerWork): Promise<readonly OutputFile[]> =>
  (await collectFiles(outputDir, FILE_LIMITS)).files;
