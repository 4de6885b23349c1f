import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { ListedOutputs } from '@runledger/contracts/events/run-event-data';
import { errorMessage } from '@runledger/contracts/events/error-message';
import type { RunResult } from '../../runner/runner.ts';
import type { EventDraft } from './attempt-event.ts';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';

type FailureReason = RunEventOf<'RunFailed'>['data']['reason'];

/** The outcome of storing the files of a workflow. */
export type Storing =
  | { readonly kind: 'stored' }
  /** They cannot be stored: they are too large or too many, a store is full, or the gateway refuses them. */
  | {
      readonly kind: 'refused';
      readonly reason: FailureReason;
      readonly why: string;
    }
  /** The run was cancelled or requeued meanwhile. */
  | { readonly kind: 'stopped' };

/** What the assignment names cannot be fetched, so the workflow did not begin. */
interface NotFetched {
  readonly outcome: 'not_fetched';
  readonly reason: 'deployment_removed' | 'internal_error';
  readonly why: string;
}

export interface Ending {
  readonly result: RunResult | NotFetched;
  readonly storing: Storing;
  /** With the files that were stored, for every outcome. */
  readonly outputs: ListedOutputs;
  /** The last progress that was reported, 0 to 1. */
  readonly progress: number;
}

export const NO_OUTPUTS: ListedOutputs = { outputs: [], outputs_blob: null };

/** The workflow begins to execute, unless a cancel was requested. */
export const begin = (attempt: AttemptUnderWay): EventDraft | null =>
  attempt.status === 'started' && attempt.cancel === null ? { type: 'RunStarted', data: {} } : null;

export const beginStoring = (attempt: AttemptUnderWay, files: number, bytes: number): EventDraft | null =>
  attempt.status === 'running' && attempt.cancel === null
    ? { type: 'RunUploading', data: { files, bytes } }
    : null;

/**
 * The event that ends the attempt. After a cancel request the only end is `cancelled`, even if the workflow has succeeded.
 * Null when the executor itself stopped the workflow: then the scheduler decides what follows.
 */
export const endOf = (
  attempt: AttemptUnderWay,
  { result, storing, outputs, progress }: Ending,
): EventDraft | null => {
  if (attempt.cancel !== null) {
    const forced = result.outcome === 'cancelled' && result.forced;
    return { type: 'RunCancelled', data: { forced, ...outputs, progress } };
  }
  const failed = (reason: FailureReason, message: string): EventDraft => ({
    type: 'RunFailed',
    // The end of a program's message says more than its beginning.
    data: { reason, message: errorMessage(message, 'end'), ...outputs, progress },
  });
  switch (result.outcome) {
    case 'cancelled':
      return null;
    case 'not_runnable':
      return failed('internal_error', result.why);
    case 'not_fetched':
      return failed(result.reason, result.why);
    case 'failed':
      return failed('workflow_error', result.message);
    case 'succeeded':
      if (storing.kind === 'stopped') return null;
      if (storing.kind === 'refused') return failed(storing.reason, storing.why);
      return { type: 'RunSucceeded', data: outputs };
  }
};
