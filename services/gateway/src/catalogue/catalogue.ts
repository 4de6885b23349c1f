import {
  Organisation,
  User,
  type Deployment,
  type Machine,
  type Workflow,
  type WorkflowVersion,
} from '@runledger/contracts/catalogue/records';
import { openBucket } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { erasureRecords } from './store/erasure-records.ts';
import { runCounts } from './store/run-counts.ts';
import { catalogueRecords } from './store/catalogue-records.ts';
import type { FixedVersion } from './store/workflow-versions.ts';

export type { FixedVersion } from './store/workflow-versions.ts';

/**
 * The records that runs are made from. Every read and write names the organisation. Reads come from the stream leader.
 * Every method may throw LogUnavailable.
 */
export interface Catalogue {
  getDeployment(org: string, id: string): Promise<Deployment | undefined>;
  putDeployment(record: Deployment): Promise<void>;
  getMachine(org: string, id: string): Promise<Machine | undefined>;
  putMachine(record: Machine): Promise<void>;
  getWorkflow(org: string, id: string): Promise<Workflow | undefined>;
  putWorkflow(record: Workflow): Promise<void>;
  getWorkflowVersion(org: string, id: string): Promise<WorkflowVersion | undefined>;
  /**
   * A version is immutable: false when one with this id exists.
   * @throws {BlobStoreFull} @throws TypeError when the number belongs to another version
   */
  createWorkflowVersion(version: FixedVersion): Promise<boolean>;
  /** False when it exists. */
  createOrganisation(record: Organisation): Promise<boolean>;
  getOrganisation(id: string): Promise<Organisation | undefined>;
  listOrganisations(): Promise<Organisation[]>;
  /** Also while it is being erased. */
  wasErased(org: string): Promise<boolean>;
  /** False when it exists. */
  createUser(record: User): Promise<boolean>;
  getUser(org: string, id: string): Promise<User | undefined>;
  /** The users of an organisation, in no order. */
  listUsers(org: string): Promise<User[]>;
}

export const catalogue = (log: EventLog): Catalogue => {
  const { machines, workflows, versions, deployments } = catalogueRecords(log);
  const organisations = openBucket(log, 'CATALOGUE', Organisation);
  const users = openBucket(log, 'CATALOGUE', User);
  return {
    getDeployment: (org, id) => deployments.get(org, id),
    putDeployment: (record) => deployments.put(record),
    getMachine: (org, id) => machines.get(org, id),
    putMachine: (record) => machines.put(record),
    getWorkflow: (org, id) => workflows.get(org, id),
    putWorkflow: (record) => workflows.put(record),
    getWorkflowVersion: (org, id) => versions.getRecord(org, id),
    createWorkflowVersion: (version) => versions.create(version),
    createOrganisation: async (record) => {
      const isNew = (await organisations.create(`organisations.${record.id}`, record)) !== false;
      if (isNew) await runCounts(log).begin(record.id);
      return isNew;
    },
    getOrganisation: async (id) => (await organisations.get(`organisations.${id}`))?.value,
    listOrganisations: async () => (await organisations.list('organisations')).map(({ value }) => value),
    wasErased: async (org) => (await erasureRecords(log).find(org)) !== undefined,
    createUser: async (record) =>
      (await users.create(`users.${record.org_id}.${record.id}`, record)) !== false,
    getUser: async (org, id) => (await users.get(`users.${org}.${id}`))?.value,
    listUsers: async (org) => (await users.list(`users.${org}`)).map(({ value }) => value),
  };
};
