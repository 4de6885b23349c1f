import type { Deployment as DeploymentRecord } from '@runledger/contracts/catalogue/records';
import type { RecordOrigin } from './store/core/decided-record.ts';
import {
  changedDeployment,
  newDeployment,
  type DeploymentChange as ChangedSettings,
  type DeploymentRequest,
} from './core/deployment.ts';
import type { DeploymentParts, DeploymentRefusal } from './core/deployment-rules.ts';
import type { LongestRun } from '../lifetimes/longest-run.ts';
import type { CatalogueRecords } from './store/catalogue-records.ts';
import type { ChangedRecord } from './store/change-record.ts';
import type { CreatedRecord } from './store/records.ts';

/** What a deployment is decided on. */
export interface DeploymentSources {
  readonly records: CatalogueRecords;
  readonly longestRun: LongestRun;
}

/** @throws {LogUnavailable} */
export const createDeployment = async (
  parts: DeploymentSources,
  request: DeploymentRequest,
  origin: RecordOrigin,
): Promise<CreatedRecord<DeploymentRecord, DeploymentRefusal>> => {
  const decide = async () => newDeployment(request, await partsOf(parts, origin.org_id, request), origin);
  const decided = await decide();
  if (decided.kind === 'refused') return decided;
  return parts.records.deployments.create(decided.record, async () => {
    const again = await decide();
    return again.kind === 'refused' ? again.why : undefined;
  });
};

/** @throws {LogUnavailable} */
export const changeDeployment = (
  parts: DeploymentSources,
  { org_id, id }: Pick<RecordOrigin, 'org_id' | 'id'>,
  change: ChangedSettings,
): Promise<ChangedRecord<DeploymentRecord, DeploymentRefusal>> =>
  parts.records.deployments.change<DeploymentRefusal>(org_id, id, async (deployment) => {
    const named = {
      machine_id: change.machine_id ?? deployment.machine_id,
      workflow_version_id: change.workflow_version_id ?? deployment.workflow_version_id,
    };
    return changedDeployment(deployment, change, await partsOf(parts, org_id, named));
  });

/** @throws {LogUnavailable} */
export const partsOf = async (
  { records: { machines, versions, workflows }, longestRun }: DeploymentSources,
  org: string,
  named: Pick<DeploymentRecord, 'machine_id' | 'workflow_version_id'>,
): Promise<DeploymentParts> => {
  const [longestRunS, machine, version] = await Promise.all([
    longestRun(),
    machines.get(org, named.machine_id),
    versions.get(org, named.workflow_version_id),
  ]);
  return {
    longestRunS,
    machine,
    version,
    workflow: version && (await workflows.get(org, version.workflow_id)),
  };
};
