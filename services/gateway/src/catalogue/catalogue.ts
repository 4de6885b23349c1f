import {
  Deployment,
  Machine,
  Organisation,
  User,
  Workflow,
  WorkflowVersion,
} from '@runledger/contracts/catalogue';
import { MAX_RUN_LIFETIME_S } from '@runledger/contracts/limits';
import { openBucket, type Bucket } from '@runledger/event-log/bucket';
import type { EventLog } from '@runledger/event-log/event-log';

/**
 * What runs are made of. Every read and write of a record names its organisation. Reads are the leader's.
 * All of it may throw LogUnavailable.
 */
export interface Catalogue {
  getDeployment(org: string, id: string): Promise<Deployment | undefined>;
  /** @throws TypeError when its runs could outlive their events in the log */
  putDeployment(record: Deployment): Promise<void>;
  getMachine(org: string, id: string): Promise<Machine | undefined>;
  putMachine(record: Machine): Promise<void>;
  getWorkflow(org: string, id: string): Promise<Workflow | undefined>;
  putWorkflow(record: Workflow): Promise<void>;
  getWorkflowVersion(org: string, id: string): Promise<WorkflowVersion | undefined>;
  /** A version is immutable: false when one with this id is there already. */
  createWorkflowVersion(record: WorkflowVersion): Promise<boolean>;
  /** False when it is there already. */
  createOrganisation(record: Organisation): Promise<boolean>;
  getOrganisation(id: string): Promise<Organisation | undefined>;
  listOrganisations(): Promise<Organisation[]>;
  /** False when it is there already. */
  createUser(record: User): Promise<boolean>;
  getUser(org: string, id: string): Promise<User | undefined>;
  listDeployments(org: string): Promise<Deployment[]>;
}

export const catalogue = (log: EventLog): Catalogue => {
  const organisations = openBucket(log, 'CATALOGUE', Organisation);
  const users = openBucket(log, 'CATALOGUE', User);
  const machines = openBucket(log, 'CATALOGUE', Machine);
  const workflows = openBucket(log, 'CATALOGUE', Workflow);
  const versions = openBucket(log, 'CATALOGUE', WorkflowVersion);
  const deployments = openBucket(log, 'CATALOGUE', Deployment);
  return {
    getDeployment: (org, id) => read(deployments, `deployments.${org}.${id}`),
    putDeployment: async (record) => {
      refuseTooLongLife(record);
      await put(deployments, `deployments.${record.org_id}.${record.id}`, record);
    },
    getMachine: (org, id) => read(machines, `machines.${org}.${id}`),
    putMachine: (record) => put(machines, `machines.${record.org_id}.${record.id}`, record),
    getWorkflow: (org, id) => read(workflows, `workflows.${org}.${id}`),
    putWorkflow: (record) => put(workflows, `workflows.${record.org_id}.${record.id}`, record),
    getWorkflowVersion: (org, id) => read(versions, `workflow_versions.${org}.${id}`),
    createWorkflowVersion: (record) =>
      create(versions, `workflow_versions.${record.org_id}.${record.id}`, record),
    createOrganisation: (record) => create(organisations, `organisations.${record.id}`, record),
    getOrganisation: (id) => read(organisations, `organisations.${id}`),
    listOrganisations: () => list(organisations, 'organisations'),
    createUser: (record) => create(users, `users.${record.org_id}.${record.id}`, record),
    getUser: (org, id) => read(users, `users.${org}.${id}`),
    listDeployments: (org) => list(deployments, `deployments.${org}`),
  };
};

const refuseTooLongLife = ({ start_deadline_s, run_timeout_s, retry }: Deployment): void => {
  const longest = (start_deadline_s + run_timeout_s) * retry.attempts;
  if (longest <= MAX_RUN_LIFETIME_S) return;
  throw new TypeError(
    `A run of this deployment could live ${longest} s (start deadline and run timeout, for each attempt), and its events are ` +
      `kept for little more than ${MAX_RUN_LIFETIME_S} s. Lower the deadline, the timeout or the attempts.`,
  );
};

const read = async <Value>(bucket: Bucket<Value>, key: string): Promise<Value | undefined> =>
  (await bucket.get(key))?.value;

const put = async <Value>(bucket: Bucket<Value>, key: string, value: Value): Promise<void> => {
  await bucket.put(key, value);
};

const create = async <Value>(bucket: Bucket<Value>, key: string, value: Value): Promise<boolean> =>
  (await bucket.create(key, value)) !== false;

const list = async <Value>(bucket: Bucket<Value>, prefix: string): Promise<Value[]> =>
  (await bucket.list(prefix)).map(({ value }) => value);
