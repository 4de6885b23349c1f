import type { RunOutput } from '@runledger/contracts/events/run-event-data';
import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { RunResult } from '../../runner/runner.ts';
import type { EventDraft } from './attempt-event.ts';

/** What became of the files that the workflow left. */
export type Storing =
  | { kind: 'stored' }
  /** They can never be stored: too large, too many, or the gateway will not have them. */
  | { kind: 'refused'; reason: 'workflow_error' | 'internal_error'; why: string }
  /** The run was cancelled or taken away meanwhile. */
  | { kind: 'stopped' };

export interface Ending {
  readonly result: RunResult;
  readonly storing: Storing;
  /** Of the files that were stored, however it ended. */
  readonly outputs: RunOutput[];
  /** 0 to 1, the last that was reported. */
  readonly progress: number;
}

/** The workflow begins to execute, unless it was cancelled before. */
export const begin = (run: ExecutingRun): EventDraft | null =>
  run.status === 'started' && run.cancel === null ? { type: 'RunStarted', data: {} } : null;

export const beginStoring = (run: ExecutingRun, files: number, bytes: number): EventDraft | null =>
  run.status === 'running' && run.cancel === null ? { type: 'RunUploading', data: { files, bytes } } : null;

/**
 * How the attempt is told to have ended. After a cancel request the only end is `cancelled`, whatever the workflow
 * did meanwhile. Null when nothing is to be told: it was stopped for the executor's own reasons.
 */
export const endOf = (
  run: ExecutingRun,
  { result, storing, outputs, progress }: Ending,
): EventDraft | null => {
  if (run.cancel !== null) {
    const forced = result.outcome === 'cancelled' && result.forced;
    return { type: 'RunCancelled', data: { forced, outputs, progress } };
  }
  const failed = (reason: 'workflow_error' | 'internal_error', message: string): EventDraft => ({
    type: 'RunFailed',
    data: { reason, message: shorten(message), outputs, progress },
  });
  switch (result.outcome) {
    case 'cancelled':
      return null;
    case 'not_runnable':
      return failed('internal_error', result.why);
    case 'failed':
      return failed('workflow_error', result.message);
    case 'succeeded':
      if (storing.kind === 'stopped') return null;
      if (storing.kind === 'refused') return failed(storing.reason, storing.why);
      return { type: 'RunSucceeded', data: { outputs } };
  }
};

/** The end of a message says more than its beginning, and no character is cut in two. */
const shorten = (message: string): string =>
  message.length <= MAX_ERROR_MESSAGE ? message : message.slice(-MAX_ERROR_MESSAGE).toWellFormed();
