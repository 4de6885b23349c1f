import { executorId, newUuid, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import {
  currentVersion,
  RUN_EVENTS,
  type RunEventOf,
  type RunEventType,
} from '@runledger/contracts/events/run-event';
import { errorOf, type AttemptErrorKind } from '@runledger/contracts/events/run-error';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { RunOutput } from '@runledger/contracts/events/run-event-data';
import type { RunKey } from '@runledger/contracts/events/subjects';

/** Facts as the services write them, for tests that append facts. */

/** A run of an organisation; by default of a new one. */
export const aRun = (org: string = newUuid()): RunKey => ({ org_id: orgId(org), run_id: runId(newUuid()) });

export const EXECUTOR = executorId('box.000000000001');
export const OTHER_EXECUTOR = executorId('box.000000000002');
const id = '01920000-0000-7000-8000-000000000001';
const sha256 = 'a'.repeat(64);
const runner = { kind: 'program', program: 'render-image' } as const;

/** The attempt of a fact, and its data. Before the first attempt no executor is assigned. */
interface FactOptions<Type extends RunEventType> {
  readonly attempt?: number;
  readonly executor?: ExecutorId | null;
  readonly data: RunEventOf<Type>['data'];
}

/** An event of any type, written by the service that writes this type. */
export const runEvent = <Type extends RunEventType>(
  type: Type,
  { org_id, run_id }: RunKey,
  { attempt = 0, executor = null, data }: FactOptions<Type>,
): RunEventOf<Type> =>
  // The compiler does not see that an envelope with this type's data is this type's event.
  ({
    type,
    version: currentVersion(type),
    event_id: newUuid(),
    run_id,
    org_id,
    time: '2026-01-01T00:00:00.000Z',
    writer: { service: RUN_EVENTS[type].writer, instance: 'test' },
    attempt,
    executor_id: executor,
    correlation_id: 'request-1',
    causation_id: null,
    traceparent: null,
    data,
  }) as unknown as RunEventOf<Type>;

type RunRequest = RunEventOf<'RunQueued'>['data'];

/** The data of RunQueued. */
export const runRequest = (changes: Partial<RunRequest> = {}): RunRequest => ({
  user_id: id,
  origin: 'api',
  deployment_id: id,
  workflow_id: id,
  workflow_version_id: id,
  workflow_sha256: sha256,
  machine_id: id,
  machine_name: 'a10g',
  machine_type: 'program',
  machine_version: '1',
  runner,
  gpu: 'A10G',
  inputs: { size: 512 },
  inputs_blob: null,
  webhook: null,
  webhook_intermediate_status: false,
  start_deadline_s: 3600,
  run_timeout_s: 3600,
  max_attempts: 3,
  rerun_of: null,
  ...changes,
});

export const queued = (key: RunKey, changes: Partial<RunRequest> = {}): RunEventOf<'RunQueued'> =>
  runEvent('RunQueued', key, { data: runRequest(changes) });

export const assigned = (
  key: RunKey,
  {
    attempt = 1,
    executor = EXECUTOR,
    publicKey = 'MCowBQYDK2VwAyEA',
    allocation = id,
    data = {},
  }: {
    attempt?: number;
    executor?: ExecutorId;
    publicKey?: string;
    allocation?: string;
    data?: Partial<RunEventOf<'RunAssigned'>['data']>;
  } = {},
): RunEventOf<'RunAssigned'> =>
  runEvent('RunAssigned', key, {
    attempt,
    executor,
    data: {
      slot_allocation_id: allocation,
      slot: 0,
      gpu: 'A10G',
      runner,
      workflow_version_id: id,
      workflow_sha256: sha256,
      inputs: {},
      inputs_blob: null,
      run_timeout_s: 3600,
      executor_public_key: publicKey,
      ...data,
    },
  });

export const started = (key: RunKey, attempt = 1, executor = EXECUTOR): RunEventOf<'RunStarted'> =>
  runEvent('RunStarted', key, { attempt, executor, data: { cold_start_s: 0 } });

export const uploading = (
  key: RunKey,
  attempt = 1,
  executor = EXECUTOR,
  bytes = 1024,
): RunEventOf<'RunUploading'> =>
  runEvent('RunUploading', key, { attempt, executor, data: { files: 1, bytes } });

export const requeued = (key: RunKey, attempt = 1, executor = EXECUTOR): RunEventOf<'RunRequeued'> =>
  runEvent('RunRequeued', key, {
    attempt,
    executor,
    data: { reason: 'executor_lost', message: 'no heartbeat' },
  });

export const cancelRequested = (
  key: RunKey,
  attempt = 0,
  executor: ExecutorId | null = null,
): RunEventOf<'RunCancelRequested'> =>
  runEvent('RunCancelRequested', key, { attempt, executor, data: { by: 'client', user_id: id } });

/** `blob` refers to the list of outputs, which the event then does not have. */
export const succeeded = (
  key: RunKey,
  outputs: readonly RunOutput[] = [],
  blob: BlobRef | null = null,
): RunEventOf<'RunSucceeded'> =>
  runEvent('RunSucceeded', key, {
    attempt: 1,
    executor: EXECUTOR,
    data: blob ? { outputs: null, outputs_blob: blob } : { outputs: [...outputs], outputs_blob: null },
  });

export const failed = (key: RunKey, kind: AttemptErrorKind = 'program_exit'): RunEventOf<'RunFailed'> =>
  runEvent('RunFailed', key, {
    attempt: 1,
    executor: EXECUTOR,
    data: {
      error: errorOf(kind, 'size is too large'),
      outputs: [],
      outputs_blob: null,
      progress: 0.25,
    },
  });

export const cancelled = (key: RunKey): RunEventOf<'RunCancelled'> =>
  runEvent('RunCancelled', key, {
    attempt: 1,
    executor: EXECUTOR,
    data: { forced: false, outputs: [], outputs_blob: null, progress: 0.75 },
  });

export const timedOut = (
  key: RunKey,
  reason: RunEventOf<'RunTimedOut'>['data']['reason'],
  attempt = 0,
  executor: ExecutorId | null = null,
): RunEventOf<'RunTimedOut'> =>
  runEvent('RunTimedOut', key, { attempt, executor, data: { reason, message: 'it took too long' } });

export const givenUp = (
  key: RunKey,
  reason: RunEventOf<'RunGivenUp'>['data']['reason'],
  attempt = 0,
  executor: ExecutorId | null = null,
): RunEventOf<'RunGivenUp'> =>
  runEvent('RunGivenUp', key, { attempt, executor, data: { reason, message: 'given up' } });

/** The end of a run that outlived the log: without an attempt, or with this one. */
export const expired = (
  key: RunKey,
  data: Partial<RunEventOf<'RunExpired'>['data']> = {},
): RunEventOf<'RunExpired'> => {
  const { attempt = null } = data;
  return runEvent('RunExpired', key, {
    attempt: attempt?.number ?? 0,
    executor: attempt ? executorId(attempt.executor_id) : null,
    data: {
      message: 'the log no longer holds its first event',
      number: 1,
      request: runRequest(),
      created_at: '2026-01-01T00:00:00.000Z',
      queued_at: '2026-01-01T00:00:00.000Z',
      started_at: null,
      cold_start_s: null,
      attempt,
      cancel: null,
      ...data,
    },
  });
};

/** `attempt` is the run's last one. */
export const outputsDeleted = (key: RunKey, attempt = 1): RunEventOf<'RunOutputsDeleted'> =>
  runEvent('RunOutputsDeleted', key, { attempt, data: { user_id: id, key_id: id } });

const NOTHING = { files: 0, file_bytes: 0, inputs_bytes: 0, outputs_bytes: 0, log_bytes: 0 };

export const deleted = (key: RunKey, attempt = 1): RunEventOf<'RunDeleted'> =>
  runEvent('RunDeleted', key, {
    attempt,
    data: { user_id: id, key_id: id, erases: NOTHING, number: 1, created_at: '2026-01-01T00:00:00.000Z' },
  });

/** As the facts of an executing run name it. */
export const anAttempt = (
  number = 1,
  executor = EXECUTOR,
): NonNullable<RunEventOf<'RunExpired'>['data']['attempt']> => ({
  number,
  executor_id: executor,
  slot_allocation_id: id,
  slot: 0,
  executor_public_key: 'MCowBQYDK2VwAyEA',
  assigned_at: '2026-01-01T00:00:01.000Z',
});
