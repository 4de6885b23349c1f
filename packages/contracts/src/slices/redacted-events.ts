import type { BlobRef } from '../blobs.ts';
import type { RunnerChoice } from '../catalogue/runners.ts';
import type { DeliveryAttempt, DeliveryState } from '../deliveries/delivery-attempts.ts';
import type { FleetEvent } from '../events/fleet-event.ts';
import type { AttemptError } from '../events/run-error.ts';
import type { RunOutput } from '../events/run-event-data.ts';
import type { RunEvent, RunEventOf, RunEventType } from '../events/run-event.ts';
import type { WebhookEvent, WebhookEventOf, WebhookEventType } from '../events/webhook-event.ts';
import type { JsonObject } from '../json.ts';
import { ENVELOPE_RULES, maskedAddress, redacted, type Redaction, type Rules } from './redaction-rules.ts';

interface Inputs {
  readonly inputs: JsonObject | null;
  readonly secret_inputs?: readonly string[];
}

/** Never the values that are sealed. Of what is in a blob nothing can be masked. */
const keptInputs = (
  inputs: JsonObject | null,
  redaction: Redaction,
  { secret_inputs }: Inputs,
): JsonObject | null => {
  if (inputs === null) return redaction.masks('inputs') ? {} : null;
  const sealed = new Set(secret_inputs);
  return redaction.maskInputs(
    Object.fromEntries(Object.entries(inputs).filter(([name]) => !sealed.has(name))),
  );
};

const keptOutputs = (outputs: RunOutput[] | null, redaction: Redaction): RunOutput[] | null => {
  if (outputs === null) return redaction.masks('outputs') ? [] : null;
  return outputs.map(redaction.maskOutput);
};

const blobUnlessMasked =
  (kind: 'inputs' | 'outputs') =>
  (blob: BlobRef | null, { masks }: Redaction): BlobRef | null =>
    masks(kind) ? null : blob;

const noBlob = (): BlobRef | null => null;

const inputs = {
  inputs: { content: 'inputs', without: (): JsonObject | null => ({}), kept: keptInputs },
  inputs_blob: { content: 'inputs', without: noBlob, kept: blobUnlessMasked('inputs') },
  file_inputs: { content: 'inputs', without: 'left_out' },
  secret_inputs: { content: 'secret_names', without: 'left_out' },
} as const;

const log_blob = { content: 'texts', without: 'left_out' } as const;

const outputs = {
  outputs: { content: 'outputs', without: (): RunOutput[] | null => [], kept: keptOutputs },
  outputs_blob: { content: 'outputs', without: noBlob, kept: blobUnlessMasked('outputs') },
  log_blob,
} as const;

const message = { message: { content: 'texts', without: () => '' } } as const;
const messageAndProgress = { ...message, reason: 'kept', progress: 'kept' } as const;

/** Of the rest the kind and whether it is retryable: decisions depend on these. */
const error = {
  content: 'texts',
  without: ({ kind, retryable }: AttemptError): AttemptError => ({ message: '', kind, retryable }),
} as const;

const runner = {
  content: 'addresses',
  without: (choice: RunnerChoice): RunnerChoice => (choice.kind === 'comfyui' ? { kind: 'comfyui' } : choice),
} as const;

const request: Rules<RunEventOf<'RunQueued'>['data']> = {
  user_id: 'kept',
  origin: 'kept',
  deployment_id: 'kept',
  workflow_id: 'kept',
  workflow_version_id: 'kept',
  workflow_sha256: 'kept',
  machine_id: 'kept',
  machine_name: 'kept',
  machine_type: 'kept',
  machine_version: 'kept',
  runner,
  gpu: 'kept',
  gpu_fallbacks: 'kept',
  labels: 'kept',
  warm_wait_s: 'kept',
  ...inputs,
  webhook: {
    content: 'addresses',
    without: (address, { pseudonym }) => address && maskedAddress(address, pseudonym),
  },
  webhook_intermediate_status: 'kept',
  start_deadline_s: 'kept',
  run_timeout_s: 'kept',
  concurrency_limit: 'kept',
  weight: 'kept',
  priority: 'kept',
  concurrency_key: { content: 'tags', without: (key, { pseudonym }) => pseudonym(key) },
  max_attempts: 'kept',
  retry_on: 'kept',
  if_no_output: 'kept',
  has_log_masks: 'kept',
  has_input_targets: 'kept',
  number: 'kept',
  rerun_of: 'kept',
  schedule: 'kept',
  delay_s: 'kept',
  start_at: 'kept',
  tags: { content: 'tags', without: 'left_out' },
  idempotency: {
    content: 'inputs',
    without: 'left_out',
    // The hash of a request tells who guesses its inputs whether they are right.
    kept: (request, { masks, pseudonym }) =>
      masks('inputs') ? { request_sha256: pseudonym(request.request_sha256).repeat(2) } : request,
  },
};

const RUN_RULES: { readonly [Type in RunEventType]: Rules<RunEventOf<Type>['data']> } = {
  RunQueued: request,
  RunCancelRequested: { by: 'kept', user_id: 'kept' },
  RunAssigned: {
    slot_allocation_id: 'kept',
    slot: 'kept',
    gpu: 'kept',
    runner,
    deployment_id: 'kept',
    workflow_version_id: 'kept',
    workflow_sha256: 'kept',
    if_no_output: 'kept',
    ...inputs,
    run_timeout_s: 'kept',
    start_deadline: 'kept',
    retry_on: 'kept',
    has_log_masks: 'kept',
    has_input_targets: 'kept',
    executor_public_key: 'kept',
    reason: 'kept',
    term: 'kept',
    fact_versions: 'kept',
  },
  RunRequeued: { ...message, reason: 'kept' },
  RunTimedOut: messageAndProgress,
  RunGivenUp: messageAndProgress,
  RunCancelEnforced: { ...message, progress: 'kept' },
  RunExpired: {
    ...message,
    number: 'kept',
    request: { within: (data, redaction) => redacted(request, data, redaction) },
    created_at: 'kept',
    queued_at: 'kept',
    started_at: 'kept',
    cold_start_s: 'kept',
    cold_start_parts_s: 'kept',
    attempt: 'kept',
    cancel: 'kept',
  },
  RunOutputsDeleted: { user_id: 'kept', key_id: 'kept' },
  RunDeleted: { user_id: 'kept', key_id: 'kept', erases: 'kept', number: 'kept', created_at: 'kept' },
  RunStarted: {
    cold_start_s: 'kept',
    cold_start_parts_s: 'kept',
    code_sha256: 'kept',
    environment_sha256: 'kept',
  },
  RunUploading: { files: 'kept', bytes: 'kept' },
  RunAttemptFailed: { error, retry_after_s: 'kept', log_blob, is_void: 'kept' },
  RunSucceeded: { ...outputs, warnings: { content: 'texts', without: 'left_out' } },
  RunFailed: { ...outputs, error, progress: 'kept' },
  RunCancelled: { ...outputs, forced: 'kept', progress: 'kept' },
};

const RUN_ENVELOPE: Rules<Omit<RunEvent, 'data'>> = {
  ...ENVELOPE_RULES,
  attempt: 'kept',
  executor_id: 'kept',
  // The hash of bytes that the slice does not have: it would tell who guesses what was left out whether they are right.
  previous_sha256: 'left_out',
};

/**
 * The event without the content that the slice does not keep. It matches the schema of its type, and folds to a run with the same times,
 * attempts, slots and status.
 */
export const redactedRunEvent = ({ data, ...envelope }: RunEvent, redaction: Redaction): RunEvent =>
  // The rules of a type are those of its data, which the compiler cannot follow over the union.
  ({
    ...redacted<Omit<RunEvent, 'data'>>(RUN_ENVELOPE, envelope, redaction),
    data: redacted<object>(RUN_RULES[envelope.type], data, redaction),
  }) as RunEvent;

const WEBHOOK_RULES: { readonly [Type in WebhookEventType]: Rules<WebhookEventOf<Type>['data']> } = {
  WebhookStarted: { notification: 'kept' },
  WebhookDelivered: { webhook_id: 'kept', tries: 'kept', status: 'kept' },
  WebhookGivenUp: {
    webhook_id: 'kept',
    tries: 'kept',
    reason: 'kept',
    last_reason: 'kept',
    status: 'kept',
    message: { content: 'texts', without: () => '' },
  },
  WebhookExpired: { message: { content: 'texts', without: () => '' } },
  WebhookRedeliveryRequested: { user_id: 'kept' },
};

const WEBHOOK_ENVELOPE: Rules<Omit<WebhookEvent, 'data'>> = { ...ENVELOPE_RULES, round: 'kept' };

/** As `redactedRunEvent`, of the notifications of a run. */
export const redactedWebhookEvent = (
  { data, ...envelope }: WebhookEvent,
  redaction: Redaction,
): WebhookEvent =>
  // The rules of a type are those of its data, which the compiler cannot follow over the union.
  ({
    ...redacted<Omit<WebhookEvent, 'data'>>(WEBHOOK_ENVELOPE, envelope, redaction),
    data: redacted<object>(WEBHOOK_RULES[envelope.type], data, redaction),
  }) as WebhookEvent;

const ATTEMPT: Rules<DeliveryAttempt> = {
  version: 'kept',
  notification: 'kept',
  webhook_id: 'kept',
  round: 'kept',
  try: 'kept',
  url: { content: 'addresses', without: (url, { pseudonym }) => maskedAddress(url, pseudonym) },
  started_at: 'kept',
  phases: 'kept',
  reason: 'kept',
  message: { content: 'texts', without: () => '' },
  status: 'kept',
  answer: { content: 'texts', without: () => null },
};

const STATE: Rules<DeliveryState> = {
  version: 'kept',
  round: 'kept',
  state: 'kept',
  tries: 'kept',
  next_try_at: 'kept',
  last_reason: 'kept',
  message: { content: 'texts', without: () => null },
  at: 'kept',
};

/** The outcome of a delivery attempt, so that a slice tells which answer came when. */
export const redactedDeliveryAttempt = (attempt: DeliveryAttempt, redaction: Redaction): DeliveryAttempt =>
  redacted(ATTEMPT, attempt, redaction);

export const redactedDeliveryState = (state: DeliveryState, redaction: Redaction): DeliveryState =>
  redacted(STATE, state, redaction);

type OfType<Type extends FleetEvent['type']> = Extract<FleetEvent, { readonly type: Type }>;

const fleetFact = {
  type: 'kept',
  version: 'kept',
  event_id: 'kept',
  executor_id: 'kept',
  time: 'kept',
} as const;

const fleetRequest = {
  type: 'kept',
  version: 'kept',
  event_id: 'kept',
  executor_name: 'kept',
  requested_by: 'kept',
  time: 'kept',
} as const;

const FLEET_RULES: { readonly [Type in FleetEvent['type']]: Rules<OfType<Type>> } = {
  ExecutorRegistered: {
    ...fleetFact,
    slots: 'kept',
    machines: 'kept',
    programs: 'kept',
    dedicated: 'kept',
    labels: 'kept',
    public_key: 'kept',
    isolation: 'kept',
    isolation_gaps: 'kept',
    limits: 'kept',
    software_version: 'kept',
  },
  ExecutorDraining: fleetFact,
  ExecutorLeft: fleetFact,
  ExecutorLost: { ...fleetFact, message: { content: 'texts', without: () => '' } },
  ExecutorDrainRequested: fleetRequest,
  ExecutorResumeRequested: fleetRequest,
};

/** As `redactedRunEvent`, of an executor. */
export const redactedFleetEvent = (event: FleetEvent, redaction: Redaction): FleetEvent =>
  // The rules of a type are those of its event, which the compiler cannot follow over the union.
  redacted<object>(FLEET_RULES[event.type], event, redaction) as FleetEvent;
