import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Kit } from '../../kit.ts';
import { jsonBytes, type JsonObject } from '@runledger/contracts/json';
import type { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { RunId } from '@runledger/contracts/ids';
import type { Context } from 'koa';
import { catalogue, type Catalogue } from '../../records/catalogue/catalogue.ts';
import {
  wrongValue,
  notFound,
  Refused,
  type Conflict,
  type Invalid,
  type InvalidRequest,
} from '../../door/refusal.ts';
import type { CallbackRules } from './callback-rules.ts';
import {
  queueRun,
  type RequestedRun,
  type ScheduledTime,
  type QueuedVersion,
  type NotQueued,
  type QueueDecision,
  type DeploymentChoice,
  type QueueRequest,
  type RequestedSettings,
} from './queue-run.decide.ts';
import { chosenDeployment } from './named-deployment.ts';
import type { PrepareRun } from './prepare-run.ts';
import {
  invalidBounds,
  invalidInputs,
  refusedInputs,
  unknownInputs,
  type UnknownInput,
} from './check-inputs.ts';
import type { AcceptRun, Acceptance, QueueCaller } from './accept-run.ts';
import { queueOptions } from './request-bounds.decide.ts';
import { requestOf, type Caller } from '../../door/operation.ts';
import { randomBytes } from 'node:crypto';
import type { DrawInteger } from '../../records/catalogue/input-values.decide.ts';

/** `no_version`: the deployment has no version with the number that the request names. */
type RequestRefusal = NoDeployment | 'no_version' | InvalidRequest;

interface Queueing {
  readonly accept: AcceptRun;
  readonly callbacks: CallbackRules;
  readonly prepare: PrepareRun;
}

interface Decided {
  readonly decision: QueueDecision<RequestRefusal>;
  readonly version: QueuedVersion | undefined;
  /** Names that the version does not define, of a run that is queued with them. */
  readonly unknown: readonly UnknownInput[];
  /** Whether the request names the version. */
  readonly hasOwnVersion?: true | undefined;
}

/** Runs of deployments as these are now. */
export interface DeploymentQueue {
  /** `refuse` is asked before, unless the request has a run already. @throws as `AcceptRun` does */
  readonly queue: <No = never>(
    given: QueueCaller,
    requested: Exclude<RequestedRun, { kind: 'rerun' }>,
    refuse?: () => Promise<NotQueued<No> | undefined>,
  ) => Promise<Acceptance | NotQueued<RequestRefusal> | NotQueued<No>>;
  /** What would be queued now, before files are kept and secrets sealed. @throws {LogUnavailable} */
  readonly decide: (given: DecidedFor, request: QueueRequest) => Promise<Decided>;
}

interface DecidedFor {
  readonly org_id: QueueCaller['org_id'];
  readonly user_id: QueueCaller['user_id'];
  readonly schedule?: ScheduledTime | undefined;
  /** The request itself is kept, so it must hold no secrets. */
  readonly isStored: boolean;
}

export const deploymentQueue = (kit: Kit, { accept, callbacks, prepare }: Queueing): DeploymentQueue => {
  const decide = decideWith(kit, callbacks);
  return {
    decide,
    queue: (given, requested, refuse) =>
      accept(given, requested, async () => {
        const refused = await refuse?.();
        if (refused) return refused;
        const schedule = requested.kind === 'schedule' ? requested.schedule : undefined;
        const { decision, version, unknown } = await decide(
          { ...given, schedule, isStored: schedule !== undefined },
          requested.request,
        );
        if (decision.kind === 'refused') return decision;
        given.onUnknownInputs?.(unknown);
        return prepare(given.org_id, decision.run, version);
      }),
  };
};

const decideWith = ({ log, now, logger }: Kit, callbacks: CallbackRules): DeploymentQueue['decide'] => {
  const records = catalogue(log);
  const { machines } = records;
  const versionOf = queuedVersions(records.versions);
  return async (given, request) => {
    const { org_id } = given;
    const { webhook } = request;
    const callback = webhook === null ? undefined : await callbacks.destination(webhook);
    const { deployment, hasOwnVersion, refused } = await chosenDeployment(records, org_id, request);
    if (refused) return { decision: { kind: 'refused', why: refused }, version: undefined, unknown: [] };
    const [machine, version] = deployment
      ? await Promise.all([
          machines.get(org_id, deployment.machine_id),
          versionOf(org_id, deployment.workflow_version_id),
        ])
      : [undefined, undefined];
    const by = { ...given, now: now().getTime(), draw: drawInteger };
    const decision = queueRun(request, { deployment, machine, version }, by);
    const why = decision.kind === 'refused' ? decision.why : undefined;
    const secrets = given.isStored ? storedSecrets(version, request.inputs) : [];
    const unknown = unknownInputs(version?.inputs ?? [], request.inputs);
    const isStrict = request.strict_inputs ?? deployment?.strict_inputs ?? false;
    const problems = [
      ...(typeof why === 'object' ? [...invalidInputs(why.inputs), ...invalidBounds(why.bounds)] : []),
      ...(isStrict ? refusedInputs(unknown) : []),
      ...(callback ? [callback] : []),
    ].filter(({ loc }) => !secrets.some((secret) => isDeepStrictEqual(secret.loc, loc)));
    problems.push(...secrets);
    if (problems.length > 0)
      return { decision: { kind: 'refused', why: { kind: 'invalid', problems } }, version, unknown };
    if (decision.kind === 'queued') return { decision, version, unknown, hasOwnVersion };
    if (why === 'machine' || why === 'workflow version')
      logger.warn({ org_id, deployment_id: deployment?.id, missing: why }, 'a deployment cannot be queued');
    return {
      decision: { kind: 'refused', why: why === 'archived' ? 'archived_deployment' : 'no_deployment' },
      version,
      unknown,
    };
  };
};

/** Its secrets that are given, and those that it cannot do without. */
const storedSecrets = (version: QueuedVersion | undefined, inputs: JsonObject): Invalid[] =>
  (version?.inputs ?? [])
    .filter(({ name, secret, required }) => secret && (required || Object.hasOwn(inputs, name)))
    .map(({ name, required }) => wrongValue(['body', 'inputs', name], required ? REQUIRED_SECRET : SECRET));

const SECRET =
  'it is a secret of the workflow version, and a schedule keeps no secrets: leave it out, or queue the runs from a scheduler of your own';
const REQUIRED_SECRET =
  'it is a secret that the workflow version requires, and a schedule keeps no secrets, so this deployment cannot be scheduled: publish a version in which the input is optional, or queue the runs from a scheduler of your own';

const MAX_VERSIONS_BYTES = 16 * 1024 ** 2;
/** What a version takes beside its definitions. */
const BYTES_OF_VERSION = 1_000;

/** What runs need of a workflow version; undefined when there is no such version. Versions are immutable, so each is read once. */
const queuedVersions = (
  records: Catalogue['versions'],
): ((org: string, id: string) => Promise<QueuedVersion | undefined>) => {
  const versions = new LRUCache<string, QueuedVersion, readonly [org: string, id: string]>({
    maxSize: MAX_VERSIONS_BYTES,
    sizeCalculation: ({ inputs }) => jsonBytes(inputs) + BYTES_OF_VERSION,
    // One that leaves the cache while it is read is read all the same.
    ignoreFetchAbort: true,
    fetchMethod: async (_name, _stale, { context }) => {
      const version = await records.get(...context);
      return version && { sha256: version.sha256, inputs: version.inputs };
    },
  });
  return (org, id) => versions.fetch(`${org}.${id}`, { context: [org, id] });
};

/** Of a client, or stored: a deployment may have any GPU model. */
type RequestedBody = Omit<DeploymentRunRequest, 'deployment_id' | 'deployment' | 'gpu'> & {
  readonly gpu?: GpuModel | null;
};

/** What is requested, with its defaults filled in. */
export const queueRequestOf = (body: RequestedBody, choice: DeploymentChoice): QueueRequest => ({
  ...choice,
  ...requestedSettings(body),
});

/** The same, but for the deployment. */
export const requestedSettings = (body: RequestedBody): RequestedSettings => ({
  inputs: body.inputs ?? {},
  webhook: body.webhook ?? null,
  webhook_intermediate_status: body.webhook_intermediate_status ?? false,
  gpu: body.gpu ?? null,
  ...(body.strict_inputs === true && { strict_inputs: true }),
  ...queueOptions(body),
});

/** Who requests a run, and with which request. */
export const queueCallerOf = (
  ctx: Context,
  { org_id, user_id }: Caller,
  headers: { readonly 'Idempotency-Key'?: string },
): QueueCaller => {
  const { request_id, traceparent } = requestOf(ctx);
  const idempotencyKey = headers['Idempotency-Key'];
  return { org_id, user_id, idempotencyKey, correlation_id: request_id, traceparent };
};

/** Why a deployment cannot be queued: the organisation does not have it, or has archived it. */
export type NoDeployment = 'no_deployment' | 'archived_deployment';

export const noDeployment = (why: NoDeployment | 'no_version'): Refused => {
  switch (why) {
    case 'no_deployment':
      return notFound('Deployment');
    case 'no_version':
      return notFound('Workflow version');
    case 'archived_deployment':
      return new Refused({
        code: 'deployment_archived',
        why: 'The deployment is archived, so it accepts no runs: restore it, or name another one',
      });
  }
};

/** The response to a client. @throws {Refused} when no run was accepted */
export const acceptedRun = ({ metrics }: Kit, acceptance: Acceptance): { run_id: RunId } => {
  if (acceptance.kind === 'accepted') metrics.queued();
  if ('run_id' in acceptance) return { run_id: acceptance.run_id };
  throw new Refused(notAccepted(acceptance));
};

const notAccepted = (acceptance: Exclude<Acceptance, { readonly run_id: RunId }>): Conflict => {
  switch (acceptance.kind) {
    case 'key_taken':
      return {
        code: 'idempotency_key_reused',
        why: 'The organisation used this Idempotency-Key for another request, so nothing was queued: send this request with a new key, or the first request again',
      };
    case 'key_of_deleted_run':
      return {
        code: 'idempotency_key_of_deleted_run',
        why: 'The run of this Idempotency-Key was deleted, so nothing was queued: send the request with a new key to queue another run',
      };
    case 'log_nearly_full':
      return {
        code: 'log_full',
        why: 'The log of runs has no room for a new run and what it may write later; accepted runs continue. Nothing was queued: try again when some of them have ended or old runs have expired. An operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS',
      };
    case 'outlives_log':
      return { code: 'run_outlives_log', why: `Nothing was queued: ${acceptance.why}` };
    case 'queue_full':
      return {
        code: 'queue_full',
        why: 'The organisation has reached its limit of queued runs, so nothing was queued: try again when some of them have started, or cancel some',
      };
    case 'inputs_gone':
      return {
        code: 'inputs_gone',
        why: 'The inputs of this run have expired or are damaged, so nothing was queued: send the inputs with the request',
      };
    case 'inputs_store_full':
      return {
        code: 'blob_store_full',
        why: 'The store of large inputs is full, so nothing was queued: send inputs of at most 4 KiB, such as the URLs of files, or ask the operator to raise blobsMaxBytes in RUNLEDGER_LOG_SETTINGS',
      };
    case 'inputs_too_large':
      return {
        code: 'inputs_too_large',
        why: `With the defaults of the workflow version, and with data URLs of inputs that it does not define as files, the inputs have more than ${acceptance.limit} bytes as JSON, so nothing was queued: send smaller ones`,
      };
    case 'inputs_over_quota':
      return {
        code: 'quota_reached',
        why: `With these inputs the inputs and lists of outputs of the organisation would have more than its limit of ${acceptance.limit} bytes, so nothing was queued: send inputs of at most 4 KiB, such as the URLs of files, delete runs, or ask the operator for a higher RUNLEDGER_QUOTA_BLOB_BYTES`,
      };
    case 'views_unavailable':
      return {
        code: 'views_unavailable',
        why: 'The store of older runs cannot be reached now, and it may have a run of this Idempotency-Key. Nothing was queued: try again with the same key',
      };
    case 'unreadable':
      return {
        code: 'run_unreadable',
        why: `The run of this Idempotency-Key cannot be read now: ${acceptance.why}`,
      };
  }
};

/** With 128 random bits, so that no integer of a range up to 2^54 is likelier than another one by more than 2^-74. */
export const drawInteger: DrawInteger = ({ lowest, highest }) => {
  const range = BigInt(highest) - BigInt(lowest) + 1n;
  return Number(BigInt(lowest) + (BigInt(`0x${randomBytes(16).toString('hex')}`) % range));
};
