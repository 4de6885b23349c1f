import type { BlobRef } from '@runledger/contracts/blobs';
import type { ColdStartParts, ListedOutputs } from '@runledger/contracts/events/run-event-data';
import { errorMessage, retryAfterS, errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { uploadTimeoutS } from '@runledger/contracts/limits';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { IfNoOutput } from '@runledger/contracts/events/run-warning';
import type { Preparing, RunResult } from '../runners/runner.ts';
import type { Assignment } from './assignment.decide.ts';
import type { EventDraft } from './attempt-facts.decide.ts';

/** The outcome of storing the files of a workflow. */
export type Storing =
  | { readonly kind: 'stored' }
  /** They cannot be stored: they are too large or too many, a store is full, or the gateway refuses them. */
  | { readonly kind: 'refused'; readonly error: AttemptError }
  /** The run was cancelled or requeued meanwhile. */
  | { readonly kind: 'stopped' };

/** What the assignment names cannot be fetched, so the workflow did not begin. */
interface NotFetched {
  readonly outcome: 'not_fetched';
  readonly error: AttemptError;
}

/** It executed, or waited until it would, for as long as it may, so its executor stopped it. */
interface TimedOut {
  readonly outcome: 'timed_out';
  readonly error: AttemptError;
  /** It did not end within the grace period. */
  readonly forced: boolean;
}

export type Executed = RunResult | TimedOut;

export const timedOut = ({ forced }: { readonly forced: boolean }, seconds: number): TimedOut => ({
  outcome: 'timed_out',
  error: errorOf(
    'run_timeout',
    `The run executed for more than its time limit of ${seconds} s and was ${forced ? 'killed, as it did not stop within the grace period' : 'stopped'}. ` +
      'If it needs more, queue it with a longer run_timeout_s, or give the deployment one.',
  ),
  forced,
});

/** Before it had begun to execute. */
export const startedTooLate = ({ executor_id, event }: Assignment): TimedOut => ({
  outcome: 'timed_out',
  error: errorOf(
    'start_deadline',
    `The run was assigned to ${executor_id}, which did not begin it within the start deadline of ${event.data.start_deadline?.within_s} s. ` +
      'Its log has what was written meanwhile, such as by a model that loads. If that needs more time, queue it with a longer start_deadline_s, or give the deployment one.',
  ),
  forced: false,
});

export const storedTooLong = (bytes: number): Storing => ({
  kind: 'refused',
  error: errorOf(
    'run_timeout',
    `The ${bytes} bytes of output files were not stored within the ${uploadTimeoutS(bytes)} s that it may take. ` +
      'The log of the executor says why the gateway did not take them. Queue the run again when it does, or leave smaller files.',
  ),
});

export interface Ending {
  readonly result: Executed | NotFetched;
  readonly storing: Storing;
  /** With the files that were stored, for every outcome. */
  readonly outputs: ListedOutputs;
  /** The last progress that was reported, 0 to 1. */
  readonly progress: number;
  /** Seconds after which another attempt follows such an error; null when none does. */
  readonly retryAfterS: RetryAfter;
  /** The logs of the run so far; undefined when they are not kept. */
  readonly log_blob?: BlobRef | undefined;
}

export type RetryAfter = (error: AttemptError) => number | null;

/** As the assignment says it. `random` is from 0 to 1. */
export const retryAfterOf =
  ({ attempt, event }: Assignment, random: number): RetryAfter =>
  (error) =>
    retryAfterS(error, { attempt, ...event.data }, random);

export const NO_OUTPUTS: ListedOutputs = { outputs: [], outputs_blob: null };

/** Gives back a run whose assignment is void: it is queued again at its place, as if it had not been assigned. */
export const giveBack = (attempt: AttemptUnderWay): EventDraft | null => {
  if (attempt.status !== 'started') return null;
  if (attempt.cancel !== null)
    return { type: 'RunCancelled', data: { forced: false, ...NO_OUTPUTS, progress: 0 } };
  const error = errorOf('not_runnable', VOID);
  return { type: 'RunAttemptFailed', data: { error, retry_after_s: 0, is_void: true } };
};

const VOID =
  'It did not begin: another scheduler had begun to lead before its assignment was stored. The run is queued again, and this attempt does not count.';

/** The workflow begins to execute, unless a cancel was requested. */
export const begin = (
  attempt: AttemptUnderWay,
  loadingMs: number,
  code_sha256: string | null,
  environment_sha256: string | null,
  preparing: Preparing | null = null,
): EventDraft | null =>
  attempt.status === 'started' && attempt.cancel === null
    ? {
        type: 'RunStarted',
        data: {
          ...coldStartOf(loadingMs, preparing),
          ...(code_sha256 === null ? {} : { code_sha256 }),
          ...(environment_sha256 === null ? {} : { environment_sha256 }),
        },
      }
    : null;

const secondsOf = (ms: number): number => Math.round(ms) / 1_000;

/** As facts have it, in seconds. */
export const coldStartOf = (
  loadingMs: number,
  preparing: Preparing | null,
): Pick<RunEventOf<'RunStarted'>['data'], 'cold_start_s' | 'cold_start_parts_s'> => ({
  cold_start_s: secondsOf(loadingMs),
  ...(preparing === null ? {} : { cold_start_parts_s: partsOf(loadingMs, preparing) }),
});

const partsOf = (loadingMs: number, { fetchMs, environmentMs, weightsMs }: Preparing): ColdStartParts => ({
  fetch: secondsOf(fetchMs),
  environment: secondsOf(environmentMs),
  weights: secondsOf(weightsMs),
  load: secondsOf(Math.max(0, loadingMs - fetchMs - environmentMs - weightsMs)),
});

export const beginStoring = (attempt: AttemptUnderWay, files: number, bytes: number): EventDraft | null =>
  attempt.status === 'running' && attempt.cancel === null
    ? { type: 'RunUploading', data: { files, bytes } }
    : null;

/**
 * The event that ends the attempt. After a cancel request the only end is `cancelled`, even if the workflow has succeeded.
 * Null when the executor stopped the workflow because it stops itself, or lost the slot: then the scheduler decides what follows.
 */
export const endOf = (
  attempt: AttemptUnderWay,
  { result, storing, outputs, progress, retryAfterS, log_blob }: Ending,
): EventDraft | null => {
  const log = log_blob && { log_blob };
  if (attempt.cancel !== null) {
    const forced = 'forced' in result && result.forced;
    return { type: 'RunCancelled', data: { forced, ...outputs, ...log, progress } };
  }
  const failed = (whole: AttemptError): EventDraft => {
    const error = { ...whole, message: errorMessage(whole.message) };
    const retry_after_s = retryAfterS(error);
    return retry_after_s === null
      ? { type: 'RunFailed', data: { error, ...outputs, ...log, progress } }
      : { type: 'RunAttemptFailed', data: { error, retry_after_s, ...log } };
  };
  switch (result.outcome) {
    case 'cancelled':
      return null;
    case 'not_runnable':
      return failed(errorOf('not_runnable', result.why));
    case 'not_fetched':
    case 'timed_out':
    case 'failed':
      return failed(result.error);
    case 'succeeded':
      if (storing.kind === 'stopped') return null;
      if (storing.kind === 'refused') return failed(storing.error);
      return {
        type: 'RunSucceeded',
        data: { ...outputs, ...log, ...(result.warnings && { warnings: [...result.warnings] }) },
      };
  }
};

/** What a result becomes by the setting of its deployment, if it has no output, or a part of the workflow made none. */
export const judgeOutputs = (result: RunResult, ifNoOutput: IfNoOutput = 'warn'): RunResult => {
  if (result.outcome !== 'succeeded' || ifNoOutput === 'warn') return result;
  const { warnings = [], ...rest } = result;
  const missing = warnings.filter(({ kind }) => kind === 'no_output');
  if (ifNoOutput === 'ignore') {
    const others = warnings.filter(({ kind }) => kind !== 'no_output');
    return others.length === 0 ? rest : { ...rest, warnings: others };
  }
  const [first] = missing;
  if (first === undefined && hasOutputs(result)) return result;
  const message = `${first?.message ?? 'The run made no output.'} ${SETTING}`;
  const node = first?.node === undefined ? {} : { node: first.node };
  return { outcome: 'failed', error: errorOf('no_output', message, node), files: result.files };
};

const SETTING = 'The deployment has if_no_output set to error.';

const hasOutputs = ({
  data,
  nodes = [],
  files,
}: Extract<RunResult, { readonly outcome: 'succeeded' }>): boolean =>
  files.length > 0 || [data, ...nodes.map((node) => node.data)].some((each) => Object.keys(each).length > 0);
