import { LRUCache } from 'lru-cache';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { jsonBytes } from '@runledger/contracts/json';
import type { Invalid, Refusal } from '../../http/refusal.ts';
import type { InputSecrets } from '../secrets/input-secrets.ts';
import type { KeepRunFiles } from './keep-run-files.ts';
import { queueRun, type QueuedVersion, type QueueDecision, type QueueRequest } from './core/queue-run.ts';
import { invalidBounds } from './invalid-bounds.ts';
import { invalidInputs } from './invalid-inputs.ts';
import type { AcceptRun, Acceptance, QueueCaller } from './accept-run.ts';

export interface QueueDeploymentOptions {
  readonly accept: AcceptRun;
  readonly catalogue: Catalogue;
  readonly keepFiles: KeepRunFiles;
  readonly secrets: Pick<InputSecrets, 'seal'>;
  readonly now: () => Date;
  readonly logger: Logger;
}

type NotQueued = 'no_deployment' | Extract<Refusal, { kind: 'invalid' }>;
type Decision = QueueDecision<NotQueued>;

/** Queues a run of a deployment as it is now. `checkCallback` says what is wrong with the callback. @throws as `AcceptRun` does */
export type QueueDeployment = (
  given: QueueCaller,
  request: QueueRequest,
  checkCallback: () => Promise<Invalid | undefined>,
) => Promise<Acceptance | Extract<Decision, { kind: 'refused' }>>;

export const queueDeployment = ({
  accept,
  catalogue,
  keepFiles,
  secrets,
  now,
  logger,
}: QueueDeploymentOptions): QueueDeployment => {
  const versionOf = queuedVersions(catalogue);
  return (given, request, checkCallback) =>
    accept(given, { kind: 'queue', request }, async (): Promise<Decision> => {
      const { org_id } = given;
      const callback = await checkCallback();
      const deployment = await catalogue.getDeployment(org_id, request.deployment_id);
      const [machine, version] = deployment
        ? await Promise.all([
            catalogue.getMachine(org_id, deployment.machine_id),
            versionOf(org_id, deployment.workflow_version_id),
          ])
        : [undefined, undefined];
      const decision = queueRun(
        request,
        { deployment, machine, version },
        { ...given, now: now().getTime() },
      );
      const why = decision.kind === 'refused' ? decision.why : undefined;
      const problems =
        typeof why === 'object' ? [...invalidInputs(why.inputs), ...invalidBounds(why.bounds)] : [];
      if (callback) problems.push(callback);
      if (problems.length > 0) return { kind: 'refused', why: { kind: 'invalid', problems } };
      if (decision.kind === 'queued') {
        const kept = await keepFiles(org_id, decision.run, version);
        return kept.kind === 'queued'
          ? { ...kept, run: secrets.seal(org_id, kept.run, version?.inputs ?? []) }
          : kept;
      }
      if (why === 'machine' || why === 'workflow version') {
        const { deployment_id } = request;
        logger.warn({ org_id, deployment_id, missing: why }, 'a deployment cannot be queued');
      }
      return { kind: 'refused', why: 'no_deployment' };
    });
};

const MAX_VERSIONS = 10_000;
const MAX_DEFINITION_BYTES = 16 * 1024 ** 2;

/** What runs need of a workflow version; undefined when there is no such version. Versions are immutable, so each is read once. */
const queuedVersions = (
  catalogue: Catalogue,
): ((org: string, id: string) => Promise<QueuedVersion | undefined>) => {
  const versions = new LRUCache<string, QueuedVersion>({
    max: MAX_VERSIONS,
    maxSize: MAX_DEFINITION_BYTES,
    sizeCalculation: ({ inputs }) => jsonBytes(inputs),
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
