import { Organisation, User, Deployment, Machine, Workflow } from '@runledger/contracts/catalogue/records';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { openTables } from '@runledger/event-log/table/table';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { perLog } from '@runledger/event-log/connect/per-log';
import { newUuid } from '@runledger/contracts/ids';
import { streamState } from '@runledger/event-log/read/leader-read';
import { Type } from 'typebox';
import { erasureRecords } from '../erasure.ts';
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
  const organisations = openBucket(log, bucket, Organisation);
  const users = openBucket(log, bucket, User);
  return {
    machines,
    workflows,
    versions,
    deployments,
    count: async (org) => {
      const counts = await Promise.all([
        ...[machines, workflows, deployments].map(async (records) => (await records.all(org)).length),
        versions.count(org),
      ]);
      return counts.reduce((sum, one) => sum + one, 0);
    },
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
});

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

/** Allows a change of a record, unless it archives a record that a deployment needs. @throws {LogUnavailable} */
export const decideArchiving = async <Stored extends Owned>(
  deployments: Catalogue['deployments'],
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
