import type { BlobRef } from '../blobs.ts';
import type { ExecutorFact, FleetEvent } from '../events/fleet-event.ts';
import type { RunEvent, RunEventOf, RunEventType } from '../events/run-event.ts';
import type { AttemptError } from '../events/run-error.ts';
import type { RunnerChoice } from '../runners/runner-kinds.ts';

/** Replaces a text that clients chose by one that tells only whether two are equal, within one slice. */
type Pseudonym = (text: string) => string;

type Rule<Value> = 'kept' | ((value: Value, pseudonym: Pseudonym) => Value);
/** Each member has a rule, so that the compiler asks for the one of a new member. */
type Rules<Data> = {
  readonly [Member in keyof Data]-?: Data extends Record<Member, unknown>
    ? Rule<Data[Member]>
    : Rule<NonNullable<Data[Member]>> | 'left_out';
};

const noMessage = (): string => '';
const noBlob = (): BlobRef | null => null;
const noInputs = (): Record<string, never> => ({});
const noOutputs = (): [] => [];
const noWebhook = (): string | null => null;
/** The kind and whether it is retryable: decisions depend on these. */
const errorKind = ({ kind, retryable }: AttemptError): AttemptError => ({ message: '', kind, retryable });
/** Not the address of a server, which may hold a password. */
const runnerKind = (runner: RunnerChoice): RunnerChoice =>
  runner.kind === 'comfyui' ? { kind: 'comfyui' } : runner;

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
  runner: runnerKind,
  gpu: 'kept',
  gpu_fallbacks: 'kept',
  labels: 'kept',
  warm_wait_s: 'kept',
  inputs: noInputs,
  inputs_blob: noBlob,
  file_inputs: 'left_out',
  secret_inputs: 'left_out',
  webhook: noWebhook,
  webhook_intermediate_status: 'kept',
  start_deadline_s: 'kept',
  run_timeout_s: 'kept',
  concurrency_limit: 'kept',
  weight: 'kept',
  priority: 'kept',
  concurrency_key: (key, pseudonym) => pseudonym(key),
  max_attempts: 'kept',
  retry_on: 'kept',
  has_log_masks: 'kept',
  has_input_targets: 'kept',
  rerun_of: 'kept',
  schedule: 'kept',
  delay_s: 'kept',
  start_at: 'kept',
  tags: 'left_out',
  idempotency: 'left_out',
};

const listed = { outputs: noOutputs, outputs_blob: noBlob, log_blob: 'left_out' } as const;
const message = { message: noMessage } as const;
const messageAndProgress = { ...message, reason: 'kept', progress: 'kept' } as const;

const RUN_RULES: { readonly [Type in RunEventType]: Rules<RunEventOf<Type>['data']> } = {
  RunQueued: request,
  RunCancelRequested: { by: 'kept', user_id: 'kept' },
  RunAssigned: {
    slot_allocation_id: 'kept',
    slot: 'kept',
    gpu: 'kept',
    runner: runnerKind,
    workflow_version_id: 'kept',
    workflow_sha256: 'kept',
    inputs: noInputs,
    inputs_blob: noBlob,
    file_inputs: 'left_out',
    secret_inputs: 'left_out',
    run_timeout_s: 'kept',
    retry_on: 'kept',
    has_log_masks: 'kept',
    has_input_targets: 'kept',
    executor_public_key: 'kept',
    reason: 'kept',
    term: 'kept',
  },
  RunRequeued: { ...message, reason: 'kept' },
  RunTimedOut: messageAndProgress,
  RunGivenUp: messageAndProgress,
  RunCancelEnforced: { ...message, progress: 'kept' },
  RunExpired: {
    ...message,
    number: 'kept',
    request: (data, pseudonym) => masked(request, data, pseudonym),
    created_at: 'kept',
    queued_at: 'kept',
    started_at: 'kept',
    cold_start_s: 'kept',
    attempt: 'kept',
    cancel: 'kept',
  },
  RunOutputsDeleted: { user_id: 'kept', key_id: 'kept' },
  RunDeleted: { user_id: 'kept', key_id: 'kept', erases: 'kept', number: 'kept', created_at: 'kept' },
  RunStarted: { cold_start_s: 'kept' },
  RunUploading: { files: 'kept', bytes: 'kept' },
  RunAttemptFailed: { error: errorKind, retry_after_s: 'kept', log_blob: 'left_out', is_void: 'kept' },
  RunSucceeded: listed,
  RunFailed: { ...listed, error: errorKind, progress: 'kept' },
  RunCancelled: { ...listed, forced: 'kept', progress: 'kept' },
};

/**
 * The event without inputs, outputs, addresses of webhooks, names of secrets, texts for people, and what a client named it by. It
 * matches the schema of its type, and folds to a run with the same times, attempts, slots and status.
 */
export const runEventWithoutContent = (event: RunEvent, pseudonym: Pseudonym): RunEvent =>
  // The rules of a type are those of its data, which the compiler cannot follow over the union.
  ({
    ...event,
    correlation_id: 'left_out',
    traceparent: null,
    data: masked<object>(RUN_RULES[event.type], event.data, pseudonym),
  }) as RunEvent;

export const fleetEventWithoutContent = (event: FleetEvent): FleetEvent =>
  isLost(event) ? { ...event, message: '' } : event;

const isLost = (event: FleetEvent): event is Extract<ExecutorFact, { readonly type: 'ExecutorLost' }> =>
  event.type === 'ExecutorLost';

/** A member without a rule, which a later release wrote, is left out. */
const masked = <Data extends object>(rules: Rules<Data>, data: Data, pseudonym: Pseudonym): Data => {
  const ruleOf = new Map<string, unknown>(Object.entries(rules));
  const members = Object.entries(data).flatMap(([name, value]) => {
    const rule = ruleOf.get(name);
    if (rule === 'kept') return [[name, value]];
    return typeof rule === 'function' ? [[name, rule(value, pseudonym)]] : [];
  });
  return Object.fromEntries(members) as Data;
};
