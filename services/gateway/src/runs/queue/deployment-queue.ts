import { drawInteger } from '../../catalogue/draw-integer.ts';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { jsonBytes, type JsonObject } from '@runledger/contracts/json';
import { invalid, type Invalid, type InvalidRequest } from '../../http/refusal.ts';
import type { InputSecrets } from '../secrets/input-secrets.ts';
import type { CallbackRules } from './callback-rules.ts';
import type { RequestedRun, ScheduledTime } from './core/idempotency.ts';
import type { KeepRunFiles } from './keep-run-files.ts';
import type { NoDeployment } from './queue-response.ts';
import { queueRun, type QueuedVersion, type QueueDecision, type QueueRequest } from './core/queue-run.ts';
import { invalidBounds } from './invalid-bounds.ts';
import { invalidInputs } from './invalid-inputs.ts';
import { refusedInputs, unknownInputs, type UnknownInput } from './unknown-inputs.ts';
import type { AcceptRun, Acceptance, QueueCaller } from './accept-run.ts';

export interface DeploymentQueueOptions {
  readonly accept: AcceptRun;
  readonly catalogue: Catalogue;
  readonly callbacks: Pick<CallbackRules, 'destination'>;
  readonly keepFiles: KeepRunFiles;
  readonly secrets: Pick<InputSecrets, 'seal'>;
  readonly now: () => Date;
  readonly logger: Logger;
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
export type QueueDeployment = <No = never>(
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

export const deploymentQueue = (options: DeploymentQueueOptions): DeploymentQueue => {
  const { accept, keepFiles, secrets } = options;
  const decide = decideWith(options);
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

const decideWith = ({
  catalogue,
  callbacks,
  now,
  logger,
}: Pick<DeploymentQueueOptions, 'catalogue' | 'callbacks' | 'now' | 'logger'>): DeploymentQueue['decide'] => {
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
