import { LRUCache } from 'lru-cache';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { queueRun, type MissingPart, type QueueDecision, type QueueRequest } from './core/queue-run.ts';
import type { AcceptRun, Acceptance, QueueCaller } from './accept-run.ts';

export interface QueueDeploymentOptions {
  readonly accept: AcceptRun;
  readonly catalogue: Catalogue;
  readonly logger: Logger;
}

type Decision<No> = QueueDecision<'no_deployment' | No>;

/** Queues a run of a deployment as it is now. `refuse` gives any other reason against it. @throws as `AcceptRun` does */
export type QueueDeployment = <No extends object>(
  given: QueueCaller,
  request: QueueRequest,
  refuse: () => Promise<No | undefined>,
) => Promise<Acceptance | Extract<Decision<No>, { kind: 'refused' }>>;

export const queueDeployment = ({ accept, catalogue, logger }: QueueDeploymentOptions): QueueDeployment => {
  const versionHash = versionHashes(catalogue);
  return <No extends object>(
    given: QueueCaller,
    request: QueueRequest,
    refuse: () => Promise<No | undefined>,
  ) =>
    accept(given, { kind: 'queue', request }, async (): Promise<Decision<No>> => {
      const { org_id } = given;
      const why = await refuse();
      if (why !== undefined) return { kind: 'refused', why };
      const deployment = await catalogue.getDeployment(org_id, request.deployment_id);
      const [machine, versionSha256] = deployment
        ? await Promise.all([
            catalogue.getMachine(org_id, deployment.machine_id),
            versionHash(org_id, deployment.workflow_version_id),
          ])
        : [undefined, undefined];
      const decision = queueRun(request, { deployment, machine, versionSha256 }, given);
      if (decision.kind === 'queued') return decision;
      if (isForOperators(decision.why)) {
        const { deployment_id } = request;
        logger.warn({ org_id, deployment_id, missing: decision.why }, 'a deployment cannot be queued');
      }
      return { kind: 'refused', why: 'no_deployment' };
    });
};

const MAX_HASHES = 10_000;

/**
 * The SHA-256 of a workflow version; undefined when there is no such version. Versions are immutable, so each is read once.
 */
const versionHashes = (catalogue: Catalogue): ((org: string, id: string) => Promise<string | undefined>) => {
  const hashes = new LRUCache<string, string>({ max: MAX_HASHES });
  return async (org, id) => {
    const name = `${org}.${id}`;
    const sha256 = hashes.get(name) ?? (await catalogue.getWorkflowVersion(org, id))?.sha256;
    if (sha256 !== undefined) hashes.set(name, sha256);
    return sha256;
  };
};

const isForOperators = (missing: MissingPart): boolean =>
  missing === 'machine' || missing === 'workflow version';
