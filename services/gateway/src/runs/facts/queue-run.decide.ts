import { inputTargets } from '@runledger/contracts/catalogue/workflow-inputs';
import type { Deployment, Machine, WorkflowVersion } from '@runledger/contracts/catalogue/records';
import type { GpuModel } from '@runledger/contracts/gpu';
import { jsonBytes, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import { MAX_FIRST_FACT_BYTES, MAX_INLINE_BYTES } from '@runledger/contracts/limits';
import type { InlineOrBlob } from '@runledger/contracts/blobs';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { RunRequest, Run } from '@runledger/contracts/fold/run';
import { compareNumbers, isExactNumber, numberText } from '@runledger/contracts/exact-number';
import type { OrgId, RunId } from '@runledger/contracts/ids';
import { fitInputs, type DrawInteger, type WrongInput } from '../../records/catalogue/input-values.decide.ts';
import type { EventEnvelope } from '@runledger/contracts/events/event-envelope';
import {
  beyondBounds,
  DEFAULT_OPTIONS,
  OPTION_NAMES,
  type QueueOptions,
  type BeyondBound,
} from './request-bounds.decide.ts';

/** Which deployment a request names. A schedule keeps the id, and the version if it has one of its own; a client names a version behind the name. */
export type DeploymentChoice =
  | { readonly deployment_id: string; readonly workflow_version_id?: string }
  | { readonly deployment: string };

/** A client's request, with its defaults filled in. */
export type QueueRequest = RequestedSettings & DeploymentChoice;

export interface RequestedSettings extends QueueOptions {
  readonly inputs: JsonObject;
  readonly webhook: string | null;
  readonly webhook_intermediate_status: boolean;
  /** Null for the GPU of the deployment, or else of the machine. */
  readonly gpu: GpuModel | null;
  /** Whether names that the version does not define are refused, whatever the deployment says. */
  readonly strict_inputs?: true;
}

/** What the catalogue has now; undefined for what is missing. */
interface DeploymentFacts {
  readonly deployment: Deployment | undefined;
  readonly machine: Machine | undefined;
  readonly version: QueuedVersion | undefined;
}

/** What a run needs of its workflow version. */
export interface QueuedVersion {
  readonly sha256: WorkflowVersion['sha256'];
  readonly inputs: WorkflowVersion['inputs'];
}

/** Inputs as the first fact of a run has them. */
export type StoredInputs = Pick<RunRequest, 'inputs' | 'inputs_blob'>;

/** What a run is queued with, but for its inputs. */
type RunSettings = Omit<RunRequest, keyof StoredInputs | 'idempotency' | 'number'>;

/** What is queued. It has no idempotency key: that belongs to the request. */
export interface NewRun {
  readonly settings: RunSettings;
  /** Given with the request, or the blob of an earlier run. */
  readonly inputs: InlineOrBlob<JsonObject>;
}

export type QueueDecision<No> = Queued | NotQueued<No>;

export interface Queued {
  readonly kind: 'queued';
  readonly run: NewRun;
}

export interface NotQueued<No> {
  readonly kind: 'refused';
  readonly why: No;
}

/** What does not fit the deployment or its version. */
interface WrongRequest {
  readonly kind: 'wrong_request';
  readonly inputs: readonly WrongInput[];
  readonly bounds: readonly BeyondBound[];
}

/** For the operator. A client only learns whether the deployment is archived, or does not exist. */
type MissingPart = 'deployment' | 'archived' | 'machine' | 'workflow version';

/** Who queues it, and when. */
interface QueuedBy {
  readonly user_id: string;
  /** In milliseconds since 1970. */
  readonly now: number;
  readonly draw: DrawInteger;
  readonly schedule?: NonNullable<RunRequest['schedule']> | undefined;
}

/** The run keeps the present settings and version, also when the catalogue changes later. */
export const queueRun = (
  request: RequestedSettings,
  { deployment, machine, version }: DeploymentFacts,
  { user_id, now, draw, schedule }: QueuedBy,
): QueueDecision<MissingPart | WrongRequest> => {
  if (!deployment) return { kind: 'refused', why: 'deployment' };
  if (deployment.archived) return { kind: 'refused', why: 'archived' };
  if (!machine) return { kind: 'refused', why: 'machine' };
  if (!version) return { kind: 'refused', why: 'workflow version' };
  const fitted = fitInputs(version.inputs, request.inputs, draw);
  const bounds = beyondBounds(request, deployment, now);
  if (fitted.kind === 'wrong' || bounds.length > 0) {
    const inputs = fitted.kind === 'wrong' ? fitted.wrong : [];
    return { kind: 'refused', why: { kind: 'wrong_request', inputs, bounds } };
  }
  return {
    kind: 'queued',
    run: {
      settings: {
        user_id,
        origin: 'api',
        deployment_id: deployment.id,
        workflow_id: deployment.workflow_id,
        workflow_version_id: deployment.workflow_version_id,
        workflow_sha256: version.sha256,
        machine_id: machine.id,
        machine_name: machine.name,
        machine_type: machine.type,
        machine_version: machine.version,
        runner: machine.runner,
        gpu: request.gpu ?? deployment.gpu ?? machine.gpu,
        ...(request.gpu === null && deployment.gpu_fallbacks && { gpu_fallbacks: deployment.gpu_fallbacks }),
        ...(deployment.labels && { labels: deployment.labels }),
        ...(deployment.warm_wait_s !== undefined && { warm_wait_s: deployment.warm_wait_s }),
        webhook: request.webhook,
        webhook_intermediate_status: request.webhook_intermediate_status,
        start_deadline_s: request.start_deadline_s ?? deployment.start_deadline_s,
        run_timeout_s: request.run_timeout_s ?? deployment.run_timeout_s,
        ...(deployment.concurrency_limit && { concurrency_limit: deployment.concurrency_limit }),
        ...(deployment.weight !== undefined && { weight: deployment.weight }),
        ...(request.priority !== 0 && { priority: request.priority }),
        ...(request.concurrency_key !== null && { concurrency_key: request.concurrency_key }),
        ...(request.delay_s > 0 && { delay_s: request.delay_s }),
        ...(request.start_at !== null && { start_at: request.start_at }),
        ...(request.tags.length > 0 && { tags: request.tags }),
        max_attempts: deployment.retry.attempts,
        ...(deployment.retry.on && { retry_on: deployment.retry.on }),
        ...(deployment.if_no_output && { if_no_output: deployment.if_no_output }),
        ...(deployment.log_masks && { has_log_masks: true }),
        ...(inputTargets(version.inputs).length > 0 && { has_input_targets: true }),
        rerun_of: null,
        ...(schedule && { schedule }),
      },
      inputs: { kind: 'inline', value: fitted.inputs },
    },
  };
};

/** `idempotency` is undefined for a run with a random id. `number` is that of the run in its organisation. */
export const runQueued = (
  data: RunSettings & StoredInputs,
  number: number,
  idempotency: RunRequest['idempotency'],
  envelope: EventEnvelope,
): RunEventOf<'RunQueued'> => ({
  ...envelope,
  type: 'RunQueued',
  version: 1,
  attempt: 0,
  executor_id: null,
  causation_id: null,
  data: { ...data, number, ...(idempotency && { idempotency }) },
});

/** The largest inputs, as JSON, that such a fact without inputs has room for. Every run that the API accepts leaves some. */
export const maxInlineInputs = (fact: RunEventOf<'RunQueued'>): number =>
  Math.min(MAX_INLINE_BYTES, MAX_FIRST_FACT_BYTES - jsonBytes(fact));

/** A time of a schedule. One run at most is queued for it. */
export type ScheduledTime = NonNullable<Run['request']['schedule']>;

interface ScheduledRun {
  readonly kind: 'schedule';
  readonly schedule: ScheduledTime;
  readonly request: QueueRequest;
}

/** What a client's request asks for. Equal ones are the same request. */
type ClientsRun =
  | { readonly kind: 'queue'; readonly request: QueueRequest }
  | { readonly kind: 'rerun'; readonly of: RunId; readonly inputs: JsonObject | undefined };

export type RequestedRun = ClientsRun | ScheduledRun;

/** The text by which requests are compared. It never changes, since runs keep its hash. */
export const requestText = (requested: ClientsRun): string => {
  switch (requested.kind) {
    case 'queue': {
      const { inputs, webhook, webhook_intermediate_status, gpu, strict_inputs } = requested.request;
      const request = { ...choiceIn(requested.request), inputs, webhook, webhook_intermediate_status, gpu };
      const named = { ...namedOptions(requested.request), ...(strict_inputs && { strict_inputs }) };
      return canonicalJson({ kind: 'queue', ...request, ...named });
    }
    case 'rerun':
      return canonicalJson({ kind: 'rerun', rerun_of: requested.of, inputs: requested.inputs ?? null });
  }
};

/** As the client named it: the key of a request belongs to its words, whatever a name means later. */
const choiceIn = (request: QueueRequest): JsonObject =>
  'deployment' in request ? { deployment: request.deployment } : { deployment_id: request.deployment_id };

/** Without those that have their defaults: so the text of a request that names none is the same as before an option existed. */
const namedOptions = (options: QueueOptions): JsonObject =>
  Object.fromEntries(
    OPTION_NAMES.map((name) => [name, options[name]] as const).filter(
      ([name, value]) =>
        value !== DEFAULT_OPTIONS[name] && canonicalJson(value) !== canonicalJson(DEFAULT_OPTIONS[name]),
    ),
  );

/** The text that the id of a run is made from. An organisation's id has no line break, so no two requests share it. */
export const identityText = (org_id: OrgId, key: string): string => `run\n${org_id}\n${key}`;

/** The same for a time of a schedule. */
export const scheduledIdentityText = (org_id: OrgId, { id, time }: ScheduledTime): string =>
  `schedule\n${org_id}\n${id}\n${time}`;

/** Whether that request queued the run. No request with a key queued a run with a random id. */
export const isRunOf = ({ request }: Run, request_sha256: string): boolean =>
  request.idempotency?.request_sha256 === request_sha256;

/**
 * The canonical text of a JSON value: names sorted by their UTF-16 code units, no white space, numbers and texts as
 * JavaScript writes them (RFC 8785), but a number that a double would change as it is. It is recursive, so only for values of little depth.
 */
export const canonicalJson = (value: JsonValue): string => {
  if (isExactNumber(value)) {
    const double = Number(numberText(value));
    return compareNumbers(value, double) === 0 ? JSON.stringify(double) : numberText(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`);
  return `{${members.join(',')}}`;
};
