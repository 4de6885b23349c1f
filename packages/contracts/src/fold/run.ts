import type { BlobRef } from '../blobs.ts';
import type { Placement } from '../events/placement.ts';
import type { FailureReason, RunError } from '../events/run-error.ts';
import type { ColdStartParts, ErasedContent, FactVersions, RunOutput } from '../events/run-event-data.ts';
import type { RunEvent, RunEventOf } from '../events/run-event.ts';
import type { RunWarning } from '../events/run-warning.ts';
import type { GpuModel } from '../gpu.ts';
import type { ExecutorId, OrgId, RunId } from '../ids.ts';
import type { FactOf } from './chain.ts';

/** A fact of a run's lifecycle. */
export type RunFact = FactOf<RunEvent>;

export type RunRequest = RunEventOf<'RunQueued'>['data'];

/** One execution attempt on one slot of one executor. */
export interface Attempt {
  readonly number: number;
  readonly executor_id: ExecutorId;
  readonly slot_allocation_id: string;
  readonly slot: number;
  /** Of the slot, when it is not the one of the request. */
  readonly gpu?: GpuModel;
  readonly executor_public_key: string;
  readonly assigned_at: string;
  /** Why it got its slot; undefined when its assignment does not say it. */
  readonly placement?: Placement;
  /** See `fact_versions` of RunAssigned. */
  readonly fact_versions?: FactVersions;
}

/** An attempt that is over, after which the run was queued again. */
export interface EarlierAttempt extends Pick<Attempt, 'number' | 'executor_id' | 'gpu' | 'placement'> {
  /** When the workflow began to execute; null if it did not. */
  readonly started_at: string | null;
  readonly ended_at: string;
  /** Its message is shortened. */
  readonly error: RunError;
  /** Its assignment was void: it did not begin, and is none of those that the run may have. */
  readonly is_void?: true;
}

export type EndReason = FailureReason | 'completed' | 'cancelled_by_client' | 'cancelled_by_operator';

export type FinalStatus = 'success' | 'failed' | 'timeout' | 'cancelled';

interface RunIdentity {
  readonly org_id: OrgId;
  readonly run_id: RunId;
  /** The log sequence of RunQueued. Clients see `displayNumber`. */
  readonly number: number;
  readonly request: RunRequest;
  readonly correlation_id: string;
  readonly traceparent: string | null;
  readonly created_at: string;
  /** The last RunQueued or RunRequeued. */
  readonly queued_at: string;
  readonly updated_at: string;
  /**
   * Of the files that its attempts stored. From the announcement of its uploads until the end of an attempt that lists its
   * outputs, it is what the attempt announced: an attempt that was lost may have stored all of it.
   */
  readonly output_bytes: number;
  /** The broker's time before which it is not assigned: requested, or a while after its last attempt failed. Null when it may start at once. */
  readonly not_before: string | null;
  /** The logs of its attempts, as far as they are kept with the run; undefined for none. */
  readonly log_blob?: BlobRef;
  /** In their order, as far as the reader knows the run: RunExpired names the last attempt alone. */
  readonly earlier_attempts: readonly EarlierAttempt[];
}

export interface CancelRequest {
  readonly requested_at: string;
  readonly by: 'client' | 'operator';
}

export type QueuedRun = RunIdentity & {
  readonly status: 'queued';
  /** The last one, which was lost or failed; null before the first. */
  readonly attempt: Attempt | null;
};
type StartedRun = RunIdentity & {
  readonly status: 'started';
  readonly attempt: Attempt;
  readonly cancel: CancelRequest | null;
};
type RunningRun = RunIdentity & {
  readonly status: 'running' | 'uploading';
  readonly attempt: Attempt;
  readonly cancel: CancelRequest | null;
  readonly started_at: string;
  /** How long it waited for what executes it to load. */
  readonly cold_start_s: number;
  /** Undefined when all of it is `load`. */
  readonly cold_start_parts_s?: ColdStartParts;
  /** Of the code that executes it; undefined where the executor knows none. */
  readonly code_sha256?: string;
  /** Of the packages that the executor installed for it; undefined where it installed none. */
  readonly environment_sha256?: string;
};
/** Which outputs a run has. */
export interface OutputListing {
  /** Null when they are in the blob. */
  readonly outputs: readonly RunOutput[] | null;
  readonly outputs_blob: BlobRef | null;
}

export const NO_OUTPUTS: OutputListing = { outputs: [], outputs_blob: null };

/** That a client deleted the outputs. */
interface DeletedOutputs {
  readonly deleted_at: string;
  /** What they were, in views until their files are erased. */
  readonly to_erase: OutputListing | null;
}

export type EndedRun = RunIdentity &
  OutputListing & {
    readonly status: FinalStatus;
    readonly end_reason: EndReason;
    readonly attempt: Attempt | null;
    readonly started_at: string | null;
    readonly cold_start_s: number | null;
    readonly cold_start_parts_s?: ColdStartParts;
    readonly code_sha256?: string;
    readonly environment_sha256?: string;
    readonly ended_at: string;
    /** Null as long as nobody has deleted them. */
    readonly deleted_outputs: DeletedOutputs | null;
    /** Why it failed or timed out; null for the other ends. */
    readonly error: RunError | null;
    /** What is odd about a run that succeeded; undefined without any. */
    readonly warnings?: readonly RunWarning[];
    /** The progress that the last fact reports, 0 to 1. */
    readonly progress: number;
  };

export type ExecutingRun = StartedRun | RunningRun;
export type Run = QueuedRun | ExecutingRun | EndedRun;

/** Of a deleted run. */
export interface LeftToErase extends OutputListing {
  /** All blobs of the run, which are erased after its files; left out without any. */
  readonly blobs?: readonly BlobRef[];
  /** The inputs that are files, by their names; left out without any. */
  readonly files?: Pick<RunRequest, 'inputs' | 'inputs_blob'> & { readonly names: readonly string[] };
}

/** What is left of a run that a client deleted, as its tombstone says it. To clients it does not exist. */
export interface DeletedRun {
  readonly status: 'deleted';
  readonly org_id: OrgId;
  readonly run_id: RunId;
  readonly number: number;
  readonly created_at: string;
  readonly deleted_at: string;
  readonly deleted_by: Pick<RunEventOf<'RunDeleted'>['data'], 'user_id' | 'key_id'>;
  readonly erases: ErasedContent;
  /** What it referred to, as far as the reader knew the run; null in views once all of it is erased. */
  readonly to_erase: LeftToErase | null;
}

/** The fold of a run's lifecycle. */
export type RunState = Run | DeletedRun;

/** What people know the run by within its organisation. It says nothing of the runs of others. */
export const displayNumber = ({ request, number }: Pick<RunIdentity, 'request' | 'number'>): number =>
  request.number ?? number;

/** Whether the run may have another attempt after the one of this number. */
export const mayHaveAnother = (
  { request, earlier_attempts }: Pick<RunIdentity, 'request' | 'earlier_attempts'>,
  number: number,
): boolean => number - earlier_attempts.filter(({ is_void }) => is_void).length < request.max_attempts;

/** When it began to wait for a slot, or will. */
export const waitsSince = ({ not_before, queued_at }: Pick<Run, 'not_before' | 'queued_at'>): string =>
  not_before ?? queued_at;

/** Of the slot of the present or last attempt; the preferred one of a run that waits. */
export const gpuOf = (run: Run): GpuModel =>
  (run.status === 'queued' ? undefined : run.attempt?.gpu) ?? run.request.gpu;

export const isDeleted = (run: RunState): run is DeletedRun => run.status === 'deleted';
export const isEnded = (run: RunState): run is EndedRun =>
  run.status === 'success' ||
  run.status === 'failed' ||
  run.status === 'timeout' ||
  run.status === 'cancelled';
export const isExecuting = (run: RunState): run is ExecutingRun =>
  run.status === 'started' || run.status === 'running' || run.status === 'uploading';

/** The time so many seconds later, to the next millisecond; null for none. */
export const laterBy = (time: string, seconds: number): string | null =>
  seconds > 0 ? new Date(Math.ceil(Date.parse(time) + seconds * 1_000)).toISOString() : null;

/** The time before which a request asked not to start, once it is queued; null when it asked for none. */
export const requestedStart = (
  { delay_s = 0, start_at }: Pick<RunRequest, 'delay_s' | 'start_at'>,
  queuedAt: string,
): string | null => start_at ?? laterBy(queuedAt, delay_s);

/** The time before which a new run does not start; null when it may start at once. */
export const firstNotBefore = (
  request: Pick<RunRequest, 'delay_s' | 'start_at'>,
  queuedAt: string,
): string | null => {
  const start = requestedStart(request, queuedAt);
  return start !== null && Date.parse(start) > Date.parse(queuedAt) ? start : null;
};
