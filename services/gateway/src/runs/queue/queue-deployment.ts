import type { Logger } from '@runledger/event-log/connect/logger';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { queueRun, type MissingPart, type QueueDecision, type QueueRequest } from './core/queue-run.ts';
import type { AcceptRun, Acceptance, Requested } from './accept-run.ts';
import type { VersionHashes } from './version-hashes.ts';

export interface QueueDeploymentOptions {
  readonly accept: AcceptRun;
  readonly catalogue: Catalogue;
  readonly versions: VersionHashes;
  readonly logger: Logger;
}

type Decision<No> = QueueDecision<'no_deployment' | No>;

/** Queues a run of a deployment, as it is now. `refuse` says what else speaks against it. @throws as `AcceptRun` does */
export type QueueDeployment = <No extends object>(
  given: Requested,
  request: QueueRequest,
  refuse: () => Promise<No | undefined>,
) => Promise<Acceptance | Extract<Decision<No>, { kind: 'refused' }>>;

export const queueDeployment =
  ({ accept, catalogue, versions, logger }: QueueDeploymentOptions): QueueDeployment =>
  <No extends object>(given: Requested, request: QueueRequest, refuse: () => Promise<No | undefined>) =>
    accept(given, { kind: 'queue', request }, async (): Promise<Decision<No>> => {
      const { org_id } = given;
      const why = await refuse();
      if (why !== undefined) return { kind: 'refused', why };
      const deployment = await catalogue.getDeployment(org_id, request.deployment_id);
      const [machine, versionSha256] = deployment
        ? await Promise.all([
            catalogue.getMachine(org_id, deployment.machine_id),
            versions(org_id, deployment.workflow_version_id),
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

const isForOperators = (missing: MissingPart): boolean =>
  missing === 'machine' || missing === 'workflow version';
