import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunObserver, RunResult, Runner, RunnerWork } from '../runner.ts';
import { executePrediction } from './prediction/execute-prediction.ts';
import type { Executed } from './prediction/prediction-result.ts';
import type { CogServers, ServerLease } from './server/cog-server.ts';

export interface CogRunnerSettings {
  /** By the names of their models. */
  readonly models: ReadonlyMap<string, CogServers>;
  readonly workFolder: string;
  readonly cancelGraceMs: number;
  readonly startTimeoutMs: number;
  readonly log: { warn(fields: object, message: string): void };
}

/** Executes a run as one prediction of a Cog server. */
export const cogRunner = (settings: CogRunnerSettings): Runner => ({
  run: async (work, observe, signal) => {
    const model = work.choice.kind === 'cog' ? work.choice.model : '';
    const servers = settings.models.get(model);
    if (servers === undefined) {
      return { outcome: 'not_runnable', why: `EXECUTOR_COG of the executor names no model "${model}".` };
    }
    const acquired = await acquire(servers, { model, work, observe }, signal);
    if (acquired.kind === 'cancelled') return CANCELLED;
    if (acquired.kind === 'refused') return { outcome: 'failed', error: acquired.error, files: [] };
    const { lease } = acquired;
    const { result, isUsable } = await onServer(settings, { model, work, lease, observe }, signal);
    if (isUsable) lease.release();
    else {
      const fields = { run_id: work.run_id, model, outcome: result.outcome };
      settings.log.warn(fields, 'a Cog server cannot be used further');
      await lease.discard();
    }
    return result;
  },
});

const CANCELLED: RunResult = { outcome: 'cancelled', forced: false, files: [] };

interface Run {
  readonly model: string;
  readonly work: RunnerWork;
  readonly observe: RunObserver;
}

const acquire = async (
  servers: CogServers,
  { model, work, observe }: Run,
  signal: AbortSignal,
): ReturnType<CogServers['acquire']> => {
  let isLoading = false;
  const onLoading = (): void => {
    isLoading = true;
    observe.progress({ progress: 0, live_status: `loading ${model}` });
  };
  const acquired = await servers.acquire(
    work.slot,
    { onLoading, onLine: (line) => observe.log(line) },
    signal,
  );
  if (isLoading) observe.progress({ progress: 0, live_status: null });
  return acquired;
};

const onServer = async (
  { workFolder, cancelGraceMs, startTimeoutMs, log }: CogRunnerSettings,
  { model, work, lease, observe }: Run & { readonly lease: ServerLease },
  signal: AbortSignal,
): Promise<Executed> => {
  if (signal.aborted || !(await observe.begin(lease.loadingMs))) return { result: CANCELLED, isUsable: true };
  const temporary = await mkdtemp(join(workFolder, 'tmp-'));
  try {
    const task = { model, work, temporary, cancelGraceMs, busyMs: startTimeoutMs };
    return await executePrediction(lease, task, observe, signal);
  } finally {
    await rm(temporary, { recursive: true, force: true }).catch((err: unknown) =>
      log.warn({ err, folder: temporary }, 'a temporary folder could not be removed'),
    );
  }
};
