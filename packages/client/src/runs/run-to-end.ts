import type { LogItem, Run, RunStatus } from '../operations.ts';
import { RunFailed, RunledgerError } from '../errors.ts';
import { withUploadedFiles, type Inputs } from './files.ts';
import type { Request } from '../http/request.ts';
import type { Settings } from '../http/settings.ts';
import { runEvents, runLogs } from './run-events.ts';
import { newKey, type QueueOptions, type Runs } from './runs.ts';

/** How far a run is. */
export interface Progress {
  readonly status: RunStatus;
  /** From 0 to 1. Another attempt begins at 0 again. */
  readonly progress: number;
  /** A short sentence about the current step; null at the end. */
  readonly live_status: string | null;
  /** The number of the attempt, from 1; 0 before the first. */
  readonly attempt: number;
}

export interface RunOptions extends QueueOptions {
  /** Called for each change, in order. When it throws, the run is cancelled. */
  readonly onProgress?: ((progress: Progress) => void | Promise<void>) | undefined;
  /** Called for each line of the logs while it is written. When it throws, the run is cancelled. */
  readonly onLog?: ((item: LogItem) => void | Promise<void>) | undefined;
  /** Cancels the run. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Queues a run and waits for its end in success. When the signal aborts, or a handler throws, the run is cancelled, since nobody
 * waits for it any more. @throws RunFailed, RunledgerError, the reason of the signal, what a handler throws
 */
export const runToEnd = async (
  settings: Settings,
  { request, runs }: { readonly request: Request; readonly runs: Runs },
  deployment: string,
  inputs: Inputs,
  { onProgress, onLog, signal, idempotencyKey = newKey(), ...more }: RunOptions,
): Promise<Run> => {
  const uploaded = await withUploadedFiles(settings, request, inputs, signal);
  const queue = async (signal?: AbortSignal): Promise<string> =>
    (await runs.queue(deployment, uploaded, { ...more, idempotencyKey, signal })).run_id;
  // Nothing is queued, so nothing has to be cancelled.
  signal?.throwIfAborted();
  let runId: string | undefined;
  const watching = new AbortController();
  const stop = (): void => watching.abort(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    runId = await queue(signal);
    const watched = { settings, runId, signal: watching.signal };
    const [run] = await Promise.all([
      runs.wait(runId, { signal: watching.signal }),
      onProgress && reportProgress(watched, onProgress),
      onLog && reportLogs(watched, onLog),
    ]);
    if (run.status !== 'success') throw new RunFailed(run);
    return run;
  } catch (error) {
    // The service may go on with it.
    if (error instanceof RunledgerError) throw error;
    // The run may be queued although its response did not arrive: its key then tells which it is.
    await cancel(runs, async () => runId ?? queue());
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    watching.abort(new Error('The call of run is over.'));
  }
};

/** Whoever aborts learns the reason of that, also when the service cannot be reached. */
const cancel = async (runs: Runs, find: () => Promise<string>): Promise<void> => {
  try {
    await runs.cancel(await find());
  } catch (error) {
    if (!(error instanceof RunledgerError)) throw error;
  }
};

interface Watched {
  readonly settings: Settings;
  readonly runId: string;
  readonly signal: AbortSignal;
}

const reportProgress = async (
  { settings, runId, signal }: Watched,
  onProgress: (progress: Progress) => void | Promise<void>,
): Promise<void> => {
  let status: RunStatus = 'queued';
  let shown: Progress | undefined;
  for await (const { event, data } of runEvents(settings, runId, { signal })) {
    if (event === 'fact') status = data.status;
    const { live_status, attempt } = data;
    const isSameAttempt = attempt === shown?.attempt && status !== 'queued';
    // A fact within an attempt does not say how far it is.
    const isUnknown = event === 'fact' && !data.finished && isSameAttempt;
    const progress = isUnknown ? Math.max(shown?.progress ?? 0, data.progress) : data.progress;
    shown = { status, progress, live_status, attempt };
    await onProgress(shown);
  }
};

const reportLogs = async (
  { settings, runId, signal }: Watched,
  onLog: (item: LogItem) => void | Promise<void>,
): Promise<void> => {
  for await (const item of runLogs(settings, runId, { follow: true, signal })) await onLog(item);
};
