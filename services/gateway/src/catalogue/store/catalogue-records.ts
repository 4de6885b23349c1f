import { Deployment, Machine, Workflow } from '@runledger/contracts/catalogue/records';
import { openBucket } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { DeploymentPart } from './core/blocking-deployments.ts';
import { listed, type Listed } from './core/record-page.ts';
import { openRecords, type Records } from './records.ts';
import { openWorkflowVersions, type WorkflowVersions } from './workflow-versions.ts';

type ListedDeployment = Listed & Pick<Deployment, DeploymentPart>;

/** The records that an organisation makes its runs from. */
export interface CatalogueRecords {
  readonly machines: Records<Machine>;
  readonly workflows: Records<Workflow>;
  readonly versions: WorkflowVersions;
  readonly deployments: Records<Deployment, ListedDeployment>;
}

export const catalogueRecords = (log: EventLog): CatalogueRecords => {
  const machines = openRecords(openBucket(log, 'CATALOGUE', Machine), 'machines', listed);
  const workflows = openRecords(openBucket(log, 'CATALOGUE', Workflow), 'workflows', listed);
  const deployments = openRecords(
    openBucket(log, 'CATALOGUE', Deployment),
    'deployments',
    ({ machine_id, workflow_id, workflow_version_id, ...record }) => ({
      ...listed(record),
      machine_id,
      workflow_id,
      workflow_version_id,
    }),
  );
  // A broker that was unavailable may have been restored from an older copy of its log.
  log.onReconnect(() => {
    for (const records of [machines, workflows, deployments]) records.forget();
  });
  return { machines, workflows, versions: openWorkflowVersions(log), deployments };
};
