import { Deployment, Machine, Workflow } from '@runledger/contracts/catalogue/records';
import { openBucket } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { DeploymentPart } from './core/blocking-deployments.ts';
import { listed, type Listed } from './core/record-page.ts';
import { openRecords, type Records } from './records.ts';
import { openWorkflowVersions, type WorkflowVersions } from './workflow-versions.ts';

type ListedRecord = Listed & Pick<Machine, 'name'>;
type ListedDeployment = ListedRecord & Pick<Deployment, DeploymentPart>;

/** The records that an organisation makes its runs from. */
export interface CatalogueRecords {
  readonly machines: Records<Machine, ListedRecord>;
  readonly workflows: Records<Workflow, ListedRecord>;
  readonly versions: WorkflowVersions;
  readonly deployments: Records<Deployment, ListedDeployment>;
  /** How many records the organisation has, archived ones too. */
  count(org: string): Promise<number>;
}

const listedByName = (record: Parameters<typeof listed>[0] & { readonly name: string }): ListedRecord => ({
  ...listed(record),
  name: record.name,
});

export const catalogueRecords = (log: EventLog): CatalogueRecords => {
  const machines = openRecords(openBucket(log, 'CATALOGUE', Machine), 'machines', listedByName);
  const workflows = openRecords(openBucket(log, 'CATALOGUE', Workflow), 'workflows', listedByName);
  const deployments = openRecords(
    openBucket(log, 'CATALOGUE', Deployment),
    'deployments',
    ({ machine_id, workflow_id, workflow_version_id, ...record }) => ({
      ...listedByName(record),
      machine_id,
      workflow_id,
      workflow_version_id,
    }),
  );
  const versions = openWorkflowVersions(log);
  const all = [machines, workflows, versions, deployments];
  // A broker that was unavailable may have been restored from an older copy of its log.
  log.onReconnect(() => all.forEach((records) => records.forget()));
  const count = async (org: string): Promise<number> =>
    (await Promise.all(all.map((records) => records.count(org)))).reduce((sum, one) => sum + one, 0);
  return { machines, workflows, versions, deployments, count };
};
