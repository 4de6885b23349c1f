import { Type, type Static } from 'typebox';
import { BlobRef, inlineOrBlob, Sha256 } from '../blobs.ts';
import {
  ConcurrencyKey,
  Priority,
  Weight,
  GpuFallbacks,
  RequiredLabels,
  MAX_TAGS,
  Tag,
} from '../run-options.ts';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_ID_PATTERN } from '../ids.ts';
import { enumInWords, JsonRecord } from '../schemas.ts';
import {
  MAX_ERROR_MESSAGE,
  MAX_EXPIRY_MESSAGE,
  MAX_FILENAME,
  MAX_WARM_WAIT_S,
  MAX_WARNINGS,
  MAX_WEBHOOK_URL,
} from '../limits.ts';
import { Placement } from './placement.ts';
import { MAX_RETRY_AFTER_S, StoredRetryOn, AttemptError } from './run-error.ts';
import { RunnerChoice } from '../catalogue/runners.ts';
import { IfNoOutput, RunWarning } from './run-warning.ts';

const Uuid = Type.String({ format: 'uuid' });
const Fraction = Type.Number({ minimum: 0, maximum: 1 });
const WarmWait = Type.Number({ exclusiveMinimum: 0, maximum: MAX_WARM_WAIT_S });
const Seconds = Type.Number({ exclusiveMinimum: 0 });
/** The broker's timestamp of a fact. */
const Time = Type.String({ format: 'date-time' });

export const RunSource = enumInWords(
  {
    api: 'A request or a schedule.',
    manual: 'Reserved for runs that people begin by hand. No service queues such a run yet.',
    replay: 'A request to run an earlier run again, which `rerun_of` names.',
  },
  { description: 'What queued it.' },
);
export type RunSource = Static<typeof RunSource>;

/** Those of files and of secrets together have at most `MAX_FILE_INPUTS_BYTES` as JSON. */
const InputNames = Type.Array(Type.String(), { minItems: 1 });

/** The request, its user, and the deployment's settings at that time: later changes of the catalogue do not affect the run. */
export const RunQueuedData = Type.Object(
  {
    user_id: Uuid,
    origin: RunSource,
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
    /** Of which models it may take a slot beside `gpu`; of none when it is left out. */
    gpu_fallbacks: Type.Optional(GpuFallbacks),
    /** How long it leaves free slots to others while a slot that has its version loaded is busy; 0 when it is left out. */
    warm_wait_s: Type.Optional(WarmWait),
    /** It goes only to an executor that has them all; to any one when it is left out. */
    labels: Type.Optional(RequiredLabels),
    inputs: Type.Union([JsonRecord, Type.Null()]),
    inputs_blob: Type.Union([BlobRef, Type.Null()]),
    /** The names of inputs whose values are files; left out without any. */
    file_inputs: Type.Optional(InputNames),
    /** The names of inputs whose values are sealed texts; left out without any. */
    secret_inputs: Type.Optional(InputNames),
    webhook: Type.Union([Type.String({ maxLength: MAX_WEBHOOK_URL }), Type.Null()]),
    webhook_intermediate_status: Type.Boolean(),
    /** From the last RunQueued or RunRequeued, or from when it may start, to RunStarted, in seconds. */
    start_deadline_s: Seconds,
    /** From RunStarted to RunUploading, or to the end without files, in seconds. */
    run_timeout_s: Seconds,
    /** It starts while fewer runs of its deployment than this hold slots; no limit when it is left out. */
    concurrency_limit: Type.Optional(Type.Integer({ minimum: 1 })),
    /** Seconds after this fact before which it does not start. */
    delay_s: Type.Optional(Seconds),
    /** The broker's time before which it does not start, as the client named it: it may be past. At most one of the two. */
    start_at: Type.Optional(Time),
    /** Of its deployment, beside the other deployments of the organisation; 1 when it is left out. */
    weight: Type.Optional(Weight),
    /** A head start of `PRIORITY_STEP_S` for each step, among the runs of its deployment; 0 when it is left out. */
    priority: Type.Optional(Priority),
    /** Of the runs of its deployment with the same key one holds a slot at a time. */
    concurrency_key: Type.Optional(ConcurrencyKey),
    /** Each once, in alphabetical order; left out without any. */
    tags: Type.Optional(Type.Array(Tag, { minItems: 1, maxItems: MAX_TAGS })),
    /** Attempts before the run is given up. */
    max_attempts: Type.Integer({ minimum: 1, maximum: 100 }),
    /** Errors of an attempt after which another one begins; none when it is left out. */
    retry_on: Type.Optional(StoredRetryOn),
    /** Left out for `warn`. */
    if_no_output: Type.Optional(IfNoOutput),
    /** Whether its deployment has masks for logs: then the executor fetches them. */
    has_log_masks: Type.Optional(Type.Boolean()),
    /** Whether its version says which nodes take the inputs: then the executor fetches that. */
    has_input_targets: Type.Optional(Type.Boolean()),
    /** Counts the runs of the organisation; left out by earlier releases, whose runs show their position in the log. */
    number: Type.Optional(Type.Integer({ minimum: 1 })),
    rerun_of: Type.Union([Uuid, Type.Null()]),
    /** The schedule that queued it, and for which of its times. */
    schedule: Type.Optional(Type.Object({ id: Uuid, time: Time })),
    /** Of a run whose id is derived from an idempotency key: a second request is compared with it. A keyed hash, when inputs are secret. */
    idempotency: Type.Optional(Type.Object({ request_sha256: Sha256 })),
  },
  inlineOrBlob('inputs', 'inputs_blob'),
);

export const RunCancelRequestedData = Type.Object({
  by: Type.Enum(['client', 'operator']),
  user_id: Type.Union([Uuid, Type.Null()]),
});

/** By event type. */
export const FactVersions = Type.Record(Type.String({ maxLength: 64 }), Type.Integer({ minimum: 1 }));
export type FactVersions = Static<typeof FactVersions>;

/** What an executor needs to run the attempt. It fetches the workflow from the gateway, and inputs that are a blob. */
export const RunAssignedData = Type.Object(
  {
    /** Identifies the slot allocation: this attempt in this GPU slot. The run API shows it as `gpu_event_id`. */
    slot_allocation_id: Uuid,
    slot: Type.Integer({ minimum: 0 }),
    /** Of the slot. */
    gpu: GpuModel,
    runner: RunnerChoice,
    /** Whose cache its program has. Earlier releases did not say it. */
    deployment_id: Type.Optional(Uuid),
    workflow_version_id: Uuid,
    workflow_sha256: Sha256,
    inputs: Type.Union([JsonRecord, Type.Null()]),
    inputs_blob: Type.Union([BlobRef, Type.Null()]),
    file_inputs: Type.Optional(InputNames),
    /** Their values are sealed here: the executor fetches them. */
    secret_inputs: Type.Optional(InputNames),
    run_timeout_s: Seconds,
    /** By when it has to begin: seconds from when it began to wait for a slot. Earlier releases did not say it. */
    start_deadline: Type.Optional(Type.Object({ since: Time, within_s: Seconds })),
    /** Errors after which the run begins another attempt; left out for its last one. */
    retry_on: Type.Optional(StoredRetryOn),
    if_no_output: Type.Optional(IfNoOutput),
    has_log_masks: Type.Optional(Type.Boolean()),
    has_input_targets: Type.Optional(Type.Boolean()),
    /** Ed25519 (SPKI, DER, base64url) of the executor; the gateway checks the tokens of this attempt against it. */
    executor_public_key: Type.String({ minLength: 1, maxLength: 256 }),
    /** Earlier releases did not say it. */
    reason: Type.Optional(Placement),
    /** The term of the leader that assigns it: void where its executor was told of a later one before. Earlier releases do not say it. */
    term: Type.Optional(Type.Integer({ minimum: 1 })),
    /**
     * The latest versions in which its executor may write facts of this attempt, of the types where that is not 1. Readers of every release
     * refuse a later one, so no executor can stop them.
     */
    fact_versions: Type.Optional(FactVersions),
  },
  inlineOrBlob('inputs', 'inputs_blob'),
);

export const RunRequeuedData = Type.Object({
  reason: Type.Enum(['executor_lost', 'executor_left']),
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
});

/** A time limit that an executor did not heed, too: one that does ends the run with RunFailed, which has its log. */
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

/** Seconds that an attempt waited for what executes it to load; 0 when it was warm. */
const ColdStart = Type.Number({ minimum: 0 });

const part = (description: string, example: number) =>
  Type.Number({ minimum: 0, description, examples: [example] });

/** What a cold start consists of, in seconds. A part that did not happen is 0; the wait for another run that did the same is of the part it waited for. */
export const ColdStartParts = Type.Object({
  fetch: part('Fetching and unpacking the code.', 0.2),
  environment: part('Installing packages, or fetching a Python.', 0.7),
  weights: part('Fetching weights.', 0.5),
  load: part('Starting the program, until what it needs is loaded.', 0.1),
});
export type ColdStartParts = Readonly<Static<typeof ColdStartParts>>;

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
  cold_start_s: Type.Union([ColdStart, Type.Null()]),
  cold_start_parts_s: Type.Optional(ColdStartParts),
  /** The last attempt; null before the first. */
  attempt: Type.Union([
    Type.Object({
      number: Type.Integer({ minimum: 1 }),
      executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
      slot_allocation_id: Uuid,
      slot: Type.Integer({ minimum: 0 }),
      executor_public_key: Type.String({ minLength: 1, maxLength: 256 }),
      /** Left out when it is the one of the request. */
      gpu: Type.Optional(GpuModel),
      assigned_at: Time,
      placement: Type.Optional(Placement),
    }),
    Type.Null(),
  ]),
  cancel: Type.Union([
    Type.Object({ requested_at: Time, by: Type.Enum(['client', 'operator']) }),
    Type.Null(),
  ]),
});

/** Who deletes, and with which API key. */
const DeletedBy = Type.Object({ user_id: Uuid, key_id: Uuid });

/** A client deletes the outputs of a run that has ended: their files are erased. */
export const RunOutputsDeletedData = DeletedBy;

const count = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] });

/** What a run had outside of its facts. Blobs are those over 4 KiB; a run without one has 0 bytes of it. */
export const ErasedContent = Type.Object({
  files: count('The number of its output files.', 2),
  file_bytes: count('The bytes of its output files.', 1_482_993),
  inputs_bytes: count('The bytes of its inputs, if they had more than 4 KiB as JSON; 0 otherwise.', 0),
  outputs_bytes: count(
    'The bytes of its list of outputs, if that had more than 4 KiB as JSON; 0 otherwise.',
    0,
  ),
  log_bytes: count('The bytes of its kept log, which is compressed; 0 without one.', 2_210),
});
export type ErasedContent = Static<typeof ErasedContent>;

/**
 * A client deletes a run that has ended. It is the tombstone of the run: it outlives all other facts of it, and what readers need is
 * here, since the log may hold nothing else.
 */
export const RunDeletedData = Type.Object({
  ...DeletedBy.properties,
  /** What is erased because of it. */
  erases: ErasedContent,
  /** The log sequence of RunQueued. */
  number: Type.Integer({ minimum: 1 }),
  created_at: Time,
});

/** The workflow begins to execute. */
export const RunStartedData = Type.Object({
  cold_start_s: ColdStart,
  /** Left out when all of it is `load`. */
  cold_start_parts_s: Type.Optional(ColdStartParts),
  /** Of the code that executes it, the same on every machine; left out where the executor knows none. */
  code_sha256: Type.Optional(Sha256),
  /** Of the packages that the executor installed for it; left out where it installed none. */
  environment_sha256: Type.Optional(Sha256),
});

/** A blob with the `RetainedLogs` of the attempts so far; left out when they wrote nothing, or when it could not be kept. */
const LogBlob = Type.Optional(BlobRef);

/** The run is queued again: its deployment has another attempt after such an error. */
export const RunAttemptFailedData = Type.Object({
  error: AttemptError,
  /** Seconds after this fact before which it is not assigned. */
  retry_after_s: Type.Number({ minimum: 0, maximum: MAX_RETRY_AFTER_S }),
  log_blob: LogBlob,
  /** Its assignment was void, so it did not begin: it is none of the attempts that the run may have. Left out otherwise. */
  is_void: Type.Optional(Type.Literal(true)),
});

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
  /** Maps a kind (`images`, `files`, `gifs`, `text`, …) to its items. Texts of the kind `json` are JSON. */
  data: Type.Record(Type.String(), Type.Array(Type.Union([Type.String(), StoredFile]))),
});
export type RunOutput = Static<typeof RunOutput>;

/** The kind whose texts are JSON: a run shows the values. */
export const JSON_KIND = 'json';

/** All outputs of a run. */
export const RunOutputs = Type.Array(RunOutput);

/** The files among outputs. */
export const storedFiles = (outputs: readonly RunOutput[]): StoredFile[] =>
  outputs.flatMap(({ data }) => Object.values(data).flat()).filter((item) => typeof item !== 'string');

/** The outputs of a run: in the event, or in a blob with a `RunOutputs`. */
const listed = {
  outputs: Type.Union([RunOutputs, Type.Null()]),
  outputs_blob: Type.Union([BlobRef, Type.Null()]),
  log_blob: LogBlob,
};
const inEventOrBlob = inlineOrBlob('outputs', 'outputs_blob');

export const RunSucceededData = Type.Object(
  {
    ...listed,
    /** What is odd about it; left out without any. */
    warnings: Type.Optional(Type.Array(RunWarning, { minItems: 1, maxItems: MAX_WARNINGS })),
  },
  inEventOrBlob,
);
/** Exactly one of `outputs` and `outputs_blob` is not null. */
export type ListedOutputs = Omit<Static<typeof RunSucceededData>, 'warnings'>;

export const RunFailedData = Type.Object(
  {
    error: AttemptError,
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
