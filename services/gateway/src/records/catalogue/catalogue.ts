import {
  Organisation,
  User,
  Deployment,
  Machine,
  Workflow,
  type WorkflowVersion,
} from '@runledger/contracts/catalogue/records';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { newUuid } from '@runledger/contracts/ids';
import { streamState } from '@runledger/event-log/read/leader-read';
import { Type } from 'typebox';
import { erasureRecords } from '../erasure.ts';
import { openWorkflowVersions, type FixedVersion, type WorkflowVersions } from './workflow-versions.ts';
import { blockedByDeployments, type DeploymentPart } from './deletion.decide.ts';
import { listed, type Listed } from './known-records.ts';
import { openRecords, type Records, type DecidedRecord } from './records.ts';
import type { Conflict } from '../../door/refusal.ts';

export type { FixedVersion } from './workflow-versions.ts';

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

/** How far the runs of an organisation are counted. `taken_by` differs for each write, so that no process takes the write of another one for its own. */
const RunCount = Type.Object({
  next: Type.Integer({ minimum: 1 }),
  taken_by: Type.String({ format: 'uuid' }),
});

/** Numbers that nobody else gets: from `first` on, before `end`. */
interface TakenNumbers {
  readonly first: number;
  readonly end: number;
  /** Of the count, for giving back what is left. */
  readonly revision: number;
}

/** The counts of the runs of all organisations, which all gateways share. Every method may throw LogUnavailable. */
export interface RunCounts {
  /** The runs of a new organisation are counted from 1. */
  begin(org: string): Promise<void>;
  /** Takes the next numbers, as many as `wanted` returns, which is called late. After LogUnavailable some may be left out. */
  take(org: string, wanted: () => number): Promise<TakenNumbers>;
  /** Those from `next` on were not used. They are left out if others were taken since, or if the write is lost. */
  giveBack(org: string, next: number, revision: number): Promise<void>;
}

/** Erased with the organisation, as all keys of this form. */
const keyOf = (org: string): string => `counts.${org}.runs`;
/** Enough for twenty gateways that write the same key at once. */
const MAX_TRIES = 50;

export const runCounts = (log: EventLog): RunCounts => {
  const bucket = openBucket(log, 'CATALOGUE', RunCount);
  const countOf = (next: number) => ({ next, taken_by: newUuid() });
  return {
    begin: async (org) => void (await bucket.create(keyOf(org), countOf(1))),
    take: async (org, wanted) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const entry = await bucket.get(keyOf(org));
        const first = entry?.value.next ?? (await firstWithoutCount(log));
        const end = first + wanted();
        const revision = entry
          ? await bucket.update(keyOf(org), countOf(end), entry.revision)
          : await bucket.create(keyOf(org), countOf(end));
        if (revision !== false) return { first, end, revision };
      }
      throw new LogUnavailable(`The runs of ${org} are counted by too many gateways at once. Try again.`);
    },
    giveBack: async (org, next, revision) =>
      void (await bucket.updateOnce(keyOf(org), countOf(next), revision)),
  };
};

/** Runs of earlier releases show their position in the log instead, so the count begins behind all of these. */
const firstWithoutCount = async (log: EventLog): Promise<number> =>
  (await streamState(log, 'RUNS')).state.last_seq + 1;

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

interface Archivable {
  readonly id: string;
  readonly org_id: string;
  readonly archived?: boolean;
}

/** Allows a change of a record, unless it archives a record that a deployment needs. @throws {LogUnavailable} */
export const decideArchiving = async <Stored extends Archivable>(
  deployments: CatalogueRecords['deployments'],
  used: DeploymentPart,
  before: Stored,
  record: Stored,
): Promise<DecidedRecord<Stored, Conflict>> => {
  const isArchived = record.archived === true && before.archived !== true;
  const blocking = isArchived
    ? await deployments.find(record.org_id, (one) => !one.archived && one[used] === record.id)
    : undefined;
  return blocking === undefined
    ? { kind: 'changed', record }
    : { kind: 'refused', why: blockedByDeployments(blocking.newest, blocking.others, used, 'Archive') };
};
