import { Deployment, Machine, Workflow } from '@runledger/contracts/catalogue';
import { openBucket } from '@runledger/event-log/bucket';
import type { EventLog } from '@runledger/event-log/event-log';
import { openRecords, type Records } from './records.ts';
import { openWorkflowVersions, type WorkflowVersions } from './workflow-versions.ts';

/** What organisations make their runs of. */
export interface CatalogueRecords {
  readonly machines: Records<Machine>;
  readonly workflows: Records<Workflow>;
  readonly versions: WorkflowVersions;
  readonly deployments: Records<Deployment>;
}

export const catalogueRecords = (log: EventLog): CatalogueRecords => ({
  machines: openRecords(openBucket(log, 'CATALOGUE', Machine), 'machines'),
  workflows: openRecords(openBucket(log, 'CATALOGUE', Workflow), 'workflows'),
  versions: openWorkflowVersions(log),
  deployments: openRecords(openBucket(log, 'CATALOGUE', Deployment), 'deployments'),
});
