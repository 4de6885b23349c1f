import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Kit } from '../../kit.ts';
import { jsonBytes, type JsonObject } from '@runledger/contracts/json';
import type { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { RunId } from '@runledger/contracts/ids';
import type { Context } from 'koa';
import { catalogue as openCatalogue, type Catalogue } from '../../records/catalogue/catalogue.ts';
import { invalid, notFound, Refused, type Invalid, type InvalidRequest } from '../../door/refusal.ts';
import type { InputSecrets } from './input-secrets.ts';
import type { CallbackRules } from './callback-rules.ts';
import {
  queueRun,
  type RequestedRun,
  type ScheduledTime,
  type QueuedVersion,
  type QueueDecision,
  type QueueRequest,
} from './queue-run.decide.ts';
import type { KeepRunFiles } from './keep-files.ts';
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
import { overQuota } from '../../records/quotas/quotas.ts';
import { randomBytes } from 'node:crypto';
import type { DrawInteger } from '../../records/catalogue/input-values.decide.ts';

/** What becomes of a request before it is a run. */
interface Preparation {
  readonly accept: AcceptRun;
  readonly callbacks: CallbackRules;
  readonly keepFiles: KeepRunFiles;
  readonly secrets: InputSecrets;
}

type NotQueued = NoDeployment | InvalidRequest;
type Decision = QueueDecision<NotQueued>;
interface RefusedFor<No> {
  readonly kind: 'refused';
  readonly why: No;
}

type Requested = Exclude<RequestedRun, { kind: 'rerun' }>;
type Refuse<No> = () => Promise<RefusedFor<No> | undefined>;

/** `refuse` is asked before, unless the request has a run already. @throws as `AcceptRun` does */
type QueueDeployment = <No = never>(
  given: QueueCaller,
  requested: Requested,
  refuse?: Refuse<No>,
) => Promise<Acceptance | RefusedFor<NotQueued | No>>;

interface Decided {
  readonly decision: Decision;
  readonly version: QueuedVersion | undefined;
  /** Names that the version does not define, of a run that is queued with them. */
  readonly unknown: readonly UnknownInput[];
}

/** Runs of deployments as these are now. */
export interface DeploymentQueue {
  readonly queue: QueueDeployment;
  /** What would be queued now, before files are kept and secrets sealed. @throws {LogUnavailable} */
  readonly decide: (given: DecidedFor, request: QueueRequest) => Promise<Decided>;
}

interface DecidedFor extends Pick<QueueCaller, 'org_id' | 'user_id'> {
  readonly schedule?: ScheduledTime | undefined;
  /** The request itself is kept, so it must hold no secrets. */
  readonly isStored: boolean;
}

export const deploymentQueue = (
  kit: Kit,
  { accept, callbacks, keepFiles, secrets }: Preparation,
): DeploymentQueue => {
  const decide = decideWith(kit, callbacks);
  const queue: QueueDeployment = <No>(given: QueueCaller, requested: Requested, refuse?: Refuse<No>) =>
    accept<NotQueued | No>(given, requested, async () => {
      const refused = await refuse?.();
      if (refused) return refused;
      const schedule = requested.kind === 'schedule' ? requested.schedule : undefined;
      const { decision, version, unknown } = await decide(
        { ...given, schedule, isStored: schedule !== undefined },
        requested.request,
      );
      if (decision.kind === 'refused') return decision;
      given.onUnknownInputs?.(unknown);
      const kept = await keepFiles(given.org_id, decision.run, version);
      return kept.kind === 'queued'
        ? { ...kept, run: secrets.seal(given.org_id, kept.run, version?.inputs ?? []) }
        : kept;
    });
  return { queue, decide };
};

const decideWith = ({ log, now, logger }: Kit, callbacks: CallbackRules): DeploymentQueue['decide'] => {
  const catalogue = openCatalogue(log);
  const versionOf = queuedVersions(catalogue);
  return async (given, request) => {
    const { org_id } = given;
    const { webhook, deployment_id } = request;
    const callback = webhook === null ? undefined : await callbacks.destination(webhook);
    const deployment = await catalogue.getDeployment(org_id, deployment_id);
    const [machine, version] = deployment
      ? await Promise.all([
          catalogue.getMachine(org_id, deployment.machine_id),
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
    if (decision.kind === 'queued') return { decision, version, unknown };
    if (why === 'machine' || why === 'workflow version')
      logger.warn({ org_id, deployment_id, missing: why }, 'a deployment cannot be queued');
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
    .map(({ name, required }) =>
      invalid(['body', 'inputs', name], 'value_error', `Value error, ${required ? REQUIRED_SECRET : SECRET}`),
    );

const SECRET =
  'it is a secret of the workflow version, and a schedule keeps no secrets: leave it out, or queue the runs from a scheduler of your own';
const REQUIRED_SECRET =
  'it is a secret that the workflow version requires, and a schedule keeps no secrets, so this deployment cannot be scheduled: publish a version in which the input is optional, or queue the runs from a scheduler of your own';

const MAX_VERSIONS_BYTES = 16 * 1024 ** 2;
/** What a version takes beside its definitions. */
const BYTES_OF_VERSION = 1_000;

/** What runs need of a workflow version; undefined when there is no such version. Versions are immutable, so each is read once. */
const queuedVersions = (
  catalogue: Catalogue,
): ((org: string, id: string) => Promise<QueuedVersion | undefined>) => {
  const versions = new LRUCache<string, QueuedVersion>({
    maxSize: MAX_VERSIONS_BYTES,
    sizeCalculation: ({ inputs }) => jsonBytes(inputs) + BYTES_OF_VERSION,
  });
  return async (org, id) => {
    const name = `${org}.${id}`;
    const known = versions.get(name);
    if (known) return known;
    const version = await catalogue.getWorkflowVersion(org, id);
    if (!version) return undefined;
    const { sha256, inputs } = version;
    versions.set(name, { sha256, inputs });
    return { sha256, inputs };
  };
};

/** Of a client, or stored: a deployment may have any GPU model. */
type RequestedBody = Omit<DeploymentRunRequest, 'gpu'> & { readonly gpu?: GpuModel | null };

/** What is requested, with its defaults filled in. */
export const queueRequestOf = (body: RequestedBody): QueueRequest => ({
  deployment_id: body.deployment_id.toLowerCase(),
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

export const noDeployment = (why: NoDeployment): Refused =>
  why === 'no_deployment'
    ? notFound('Deployment')
    : new Refused({
        code: 'deployment_archived',
        why: 'The deployment is archived, so it accepts no runs: restore it, or name another one',
      });

/** The response to a client. @throws {Refused} when no run was accepted */
export const acceptedRun = ({ metrics }: Kit, acceptance: Acceptance): { run_id: RunId } => {
  switch (acceptance.kind) {
    case 'accepted':
      metrics.queued();
      return { run_id: acceptance.run_id };
    case 'accepted_before':
      return { run_id: acceptance.run_id };
    case 'key_taken':
      throw new Refused({
        code: 'idempotency_key_reused',
        why: 'The organisation used this Idempotency-Key for another request, so nothing was queued: send this request with a new key, or the first request again',
      });
    case 'key_of_deleted_run':
      throw new Refused({
        code: 'idempotency_key_of_deleted_run',
        why: 'The run of this Idempotency-Key was deleted, so nothing was queued: send the request with a new key to queue another run',
      });
    case 'log_nearly_full':
      throw new Refused({
        code: 'log_full',
        why: 'The log of runs has no room for a new run and what it may write later; accepted runs continue. Nothing was queued: try again when some of them have ended or old runs have expired. An operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS',
      });
    case 'outlives_log':
      throw new Refused({ code: 'run_outlives_log', why: `Nothing was queued: ${acceptance.why}` });
    case 'queue_full':
      throw new Refused({
        code: 'queue_full',
        why: 'The organisation has reached its limit of queued runs, so nothing was queued: try again when some of them have started, or cancel some',
      });
    case 'inputs_gone':
      throw new Refused({
        code: 'inputs_gone',
        why: 'The inputs of this run have expired or are damaged, so nothing was queued: send the inputs with the request',
      });
    case 'inputs_store_full':
      throw new Refused({
        code: 'blob_store_full',
        why: 'The store of large inputs is full, so nothing was queued: send inputs of at most 4 KiB, such as the URLs of files, or ask the operator to raise blobsMaxBytes in RUNLEDGER_LOG_SETTINGS',
      });
    case 'inputs_too_large':
      throw new Refused({
        code: 'inputs_too_large',
        why: `With the defaults of the workflow version, and with data URLs of inputs that it does not define as files, the inputs have more than ${acceptance.limit} bytes as JSON, so nothing was queued: send smaller ones`,
      });
    case 'inputs_over_quota':
      throw overQuota(
        `With these inputs the inputs and lists of outputs of the organisation would have more than its limit of ${acceptance.limit} bytes, so nothing was queued: send inputs of at most 4 KiB, such as the URLs of files, delete runs, or ask the operator for a higher RUNLEDGER_QUOTA_BLOB_BYTES`,
      );
    case 'views_unavailable':
      throw new Refused({
        code: 'views_unavailable',
        why: 'The store of older runs cannot be reached now, and it may have a run of this Idempotency-Key. Nothing was queued: try again with the same key',
      });
    case 'unreadable':
      throw new Refused({
        code: 'run_unreadable',
        why: `The run of this Idempotency-Key cannot be read now: ${acceptance.why}`,
      });
  }
};

/** With 128 random bits, so that no integer of a range up to 2^54 is likelier than another one by more than 2^-74. */
export const drawInteger: DrawInteger = ({ lowest, highest }) => {
  const range = BigInt(highest) - BigInt(lowest) + 1n;
  return Number(BigInt(lowest) + (BigInt(`0x${randomBytes(16).toString('hex')}`) % range));
};
