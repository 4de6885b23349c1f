import { Type, type Static } from 'typebox';
import { BlobRef, inlineOrBlob, Sha256 } from '../blobs.ts';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_ID_PATTERN } from '../ids.ts';
import { JsonRecord } from '../json-schemas.ts';
import { MAX_ERROR_MESSAGE, MAX_EXPIRY_MESSAGE, MAX_FILENAME, MAX_WEBHOOK_URL } from '../limits.ts';
import { RunnerChoice } from '../runners/runner-kinds.ts';

const Uuid = Type.String({ format: 'uuid' });
const Fraction = Type.Number({ minimum: 0, maximum: 1 });
const Seconds = Type.Number({ exclusiveMinimum: 0 });
/** The broker's timestamp of a fact. */
const Time = Type.String({ format: 'date-time' });

export const RunOrigin = Type.Enum(['api', 'manual', 'replay']);
export type RunOrigin = Static<typeof RunOrigin>;

/** The request, its user, and the deployment's settings at that time: later changes of the catalogue do not affect the run. */
export const RunQueuedData = Type.Object(
  {
    user_id: Uuid,
    origin: RunOrigin,
    deployment_id: Uuid,
    workflow_id: Uuid,
    workflow_version_id: Uuid,
    workflow_sha256: Sha256,
    machine_id: Uuid,
    machine_name: Type.String(),
    machine_type: Type.String(),
    machine_version: Type.String(),
    runner: RunnerChoice,
    gpu: GpuModel,
    inputs: Type.Union([JsonRecord, Type.Null()]),
    inputs_blob: Type.Union([BlobRef, Type.Null()]),
    webhook: Type.Union([Type.String({ maxLength: MAX_WEBHOOK_URL }), Type.Null()]),
    webhook_intermediate_status: Type.Boolean(),
    /** From the last RunQueued or RunRequeued to RunStarted, in seconds. */
    start_deadline_s: Seconds,
    /** From RunStarted to the end, in seconds. */
    run_timeout_s: Seconds,
    /** Attempts before the run is given up as `executor_lost`. */
    max_attempts: Type.Integer({ minimum: 1, maximum: 100 }),
    rerun_of: Type.Union([Uuid, Type.Null()]),
    /** Of a run whose id is derived from an idempotency key: a second request with the same key is compared with it. */
    idempotency: Type.Optional(Type.Object({ request_sha256: Sha256 })),
  },
  inlineOrBlob('inputs', 'inputs_blob'),
);

export const RunCancelRequestedData = Type.Object({
  by: Type.Enum(['client', 'operator']),
  user_id: Type.Union([Uuid, Type.Null()]),
});

/** What an executor needs to run the attempt. It fetches the workflow from the gateway, and inputs that are a blob. */
export const RunAssignedData = Type.Object(
  {
    /** Identifies the slot allocation: this attempt in this GPU slot. The run API shows it as `gpu_event_id`. */
    slot_allocation_id: Uuid,
    slot: Type.Integer({ minimum: 0 }),
    gpu: GpuModel,
    runner: RunnerChoice,
    workflow_version_id: Uuid,
    workflow_sha256: Sha256,
    inputs: Type.Union([JsonRecord, Type.Null()]),
    inputs_blob: Type.Union([BlobRef, Type.Null()]),
    run_timeout_s: Seconds,
    /** Ed25519 (SPKI, DER, base64url) of the executor; the gateway checks the tokens of this attempt against it. */
    executor_public_key: Type.String({ minLength: 1, maxLength: 256 }),
  },
  inlineOrBlob('inputs', 'inputs_blob'),
);

export const RunRequeuedData = Type.Object({
  reason: Type.Enum(['executor_lost', 'executor_left', 'not_started']),
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
});

export const RunTimedOutData = Type.Object({
  reason: Type.Enum(['run_timeout', 'start_deadline', 'no_capacity', 'storage_full']),
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
  progress: Type.Optional(Fraction),
});

export const RunGivenUpData = Type.Object({
  reason: Type.Enum(['executor_lost', 'internal_error']),
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
  progress: Type.Optional(Fraction),
});

/** The executor did not end a cancelled run within the grace period, or is lost. */
export const RunCancelEnforcedData = Type.Object({
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
  progress: Type.Optional(Fraction),
});

/** What the log no longer holds of a run, so that this fact alone is a whole history. */
export const RunExpiredData = Type.Object({
  message: Type.String({ maxLength: MAX_EXPIRY_MESSAGE }),
  /** The log sequence of RunQueued. */
  number: Type.Integer({ minimum: 1 }),
  request: RunQueuedData,
  created_at: Time,
  /** The last RunQueued or RunRequeued. */
  queued_at: Time,
  started_at: Type.Union([Time, Type.Null()]),
  /** The last attempt; null before the first. */
  attempt: Type.Union([
    Type.Object({
      number: Type.Integer({ minimum: 1 }),
      executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
      slot_allocation_id: Uuid,
      slot: Type.Integer({ minimum: 0 }),
      executor_public_key: Type.String({ minLength: 1, maxLength: 256 }),
      assigned_at: Time,
    }),
    Type.Null(),
  ]),
  cancel: Type.Union([
    Type.Object({ requested_at: Time, by: Type.Enum(['client', 'operator']) }),
    Type.Null(),
  ]),
});

/** A client deletes the outputs of a run that has ended: their files are erased. */
export const RunOutputsDeletedData = Type.Object({ user_id: Uuid });

/** A client deletes a run that has ended. What readers need of it is here, since the log may hold nothing else of it. */
export const RunDeletedData = Type.Object({
  user_id: Uuid,
  /** The log sequence of RunQueued. */
  number: Type.Integer({ minimum: 1 }),
  created_at: Time,
});

export const RunStartedData = Type.Object({});

export const RunUploadingData = Type.Object({
  files: Type.Integer({ minimum: 1 }),
  bytes: Type.Integer({ minimum: 0 }),
});

/** A stored file. Its URL is made of the gateway's public address and `key`, which cannot be guessed. */
export const StoredFile = Type.Object({
  key: Type.String({ pattern: '^[A-Za-z0-9_-]{22,86}$' }),
  filename: Type.String({ minLength: 1, maxLength: MAX_FILENAME }),
  subfolder: Type.String(),
  content_type: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Sha256,
  /** The ComfyUI family's word. */
  type: Type.Enum(['output', 'temp']),
  /** Seconds. */
  upload_duration: Type.Number({ minimum: 0 }),
});
export type StoredFile = Static<typeof StoredFile>;

export const RunOutput = Type.Object({
  id: Uuid,
  output_id: Type.String(),
  node_id: Type.Union([Type.String(), Type.Null()]),
  node_meta: Type.Union([JsonRecord, Type.Null()]),
  type: Type.Union([Type.String(), Type.Null()]),
  /** Maps a kind (`images`, `files`, `gifs`, `text`, …) to its items. */
  data: Type.Record(Type.String(), Type.Array(Type.Union([Type.String(), StoredFile]))),
});
export type RunOutput = Static<typeof RunOutput>;

/** All outputs of a run. */
export const RunOutputs = Type.Array(RunOutput);

/** The outputs of a run: in the event, or in a blob with a `RunOutputs`. */
const listed = {
  outputs: Type.Union([RunOutputs, Type.Null()]),
  outputs_blob: Type.Union([BlobRef, Type.Null()]),
};
const inEventOrBlob = inlineOrBlob('outputs', 'outputs_blob');

export const RunSucceededData = Type.Object(listed, inEventOrBlob);
/** Exactly one of its members is not null. */
export type ListedOutputs = Static<typeof RunSucceededData>;

export const RunFailedData = Type.Object(
  {
    reason: Type.Enum(['workflow_error', 'deployment_removed', 'storage_full', 'internal_error']),
    message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
    ...listed,
    progress: Type.Optional(Fraction),
  },
  inEventOrBlob,
);

export const RunCancelledData = Type.Object(
  {
    /** The workflow did not stop within the grace period and was killed. */
    forced: Type.Boolean(),
    ...listed,
    progress: Type.Optional(Fraction),
  },
  inEventOrBlob,
);
