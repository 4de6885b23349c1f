import {
  Organisation,
  User,
  Deployment,
  KeptReady,
  Machine,
  Workflow,
} from '@runledger/contracts/catalogue/records';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { openTable, openTables, type Table } from '@runledger/event-log/table/table';
import { perLog } from '@runledger/event-log/connect/per-log';
import { erasureRecords } from '../erasure.ts';
import { beginRunNumbers } from '../run-numbers.ts';
import { openWorkflowVersions, type WorkflowVersions } from './workflow-versions.ts';
import { blockedByDeployments, type DeploymentPart } from './deletion.decide.ts';
import { listed, openRecords, type DecidedRecord, type Owned, type Records } from './records.ts';
import type { Conflict } from '../../door/refusal.ts';

export type { FixedVersion } from './workflow-versions.ts';

/**
 * The records that runs are made from. Every read and write names the organisation. Reads come from the stream leader.
 * Every method may throw LogUnavailable.
 */
export interface Catalogue {
  readonly machines: Records<Machine>;
  readonly workflows: Records<Workflow>;
  readonly versions: WorkflowVersions;
  readonly deployments: Records<Deployment>;
  /** Of all organisations: the deployments that may have something kept ready. */
  readonly kept: Table<KeptReady, KeptReady, 'org'>;
  /** How many of these an organisation has, archived ones too. */
  count(org: string): Promise<number>;
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

export const catalogue = perLog((log): Catalogue => {
  const bucket = 'CATALOGUE';
  const machines = openRecords(
    openTables(log, { bucket, prefix: 'machines', schema: Machine, ...listed<Machine>() }),
    'machines',
  );
  const workflows = openRecords(
    openTables(log, { bucket, prefix: 'workflows', schema: Workflow, ...listed<Workflow>() }),
    'workflows',
  );
  const deployments = openRecords(
    openTables(log, { bucket, prefix: 'deployments', schema: Deployment, ...listed<Deployment>() }),
    'deployments',
  );
  const versions = openWorkflowVersions(log);
  const kept = openTable(log, {
    bucket,
    prefix: 'kept',
    schema: KeptReady,
    keep: (mark: KeptReady) => mark,
    indexes: { org: ({ org_id }: KeptReady) => org_id },
  });
  const organisations = openBucket(log, bucket, Organisation);
  const users = openBucket(log, bucket, User);
  return {
    machines,
    workflows,
    versions,
    deployments,
    kept,
    count: async (org) => {
      const counts = await Promise.all([
        ...[machines, workflows, deployments].map(async (records) => (await records.all(org)).length),
        versions.count(org),
      ]);
      return counts.reduce((sum, one) => sum + one, 0);
    },
    createOrganisation: async (record) => {
      const isNew = (await organisations.create(`organisations.${record.id}`, record)) !== false;
      if (isNew) await beginRunNumbers(log, record.id);
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
});

/** Allows a change of a record, unless it takes from a deployment what that needs: the record is archived, or `isOther`. @throws {LogUnavailable} */
export const changeUnlessUsed = async <Stored extends Owned>(
  deployments: Catalogue['deployments'],
  used: DeploymentPart,
  before: Stored,
  record: Stored,
  /** What deployments need of it is another thing. */
  isOther = false,
): Promise<DecidedRecord<Stored, Conflict>> => {
  const isArchived = record.archived === true && before.archived !== true;
  const blocking =
    isArchived || isOther
      ? await deployments.find(record.org_id, (one) => !one.archived && one[used] === record.id)
      : undefined;
  return blocking === undefined
    ? { kind: 'changed', record }
    : {
        kind: 'refused',
        why: blockedByDeployments(blocking.newest, blocking.others, used, 'Archive'),
      };
};
