import type { Deployment } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createApiKey } from '@runledger/gateway/records/keys/api-keys';
import { catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import { GPU, PROGRAM } from './service-environment.ts';

/** The deployments. Only their limits differ. */
const DEPLOYMENTS = {
  ordinary: { run_timeout_s: 900, start_deadline_s: 3_600 },
  /** Its runs are cancelled in bulk from time to time. */
  bulkCancelled: { run_timeout_s: 120, start_deadline_s: 3_600 },
  /** For runs that time out. */
  shortTimeout: { run_timeout_s: 1, start_deadline_s: 3_600 },
  /** For runs that no executor can take. */
  shortDeadline: { run_timeout_s: 120, start_deadline_s: 4 },
  /** One of its runs executes at a time. */
  limited: { run_timeout_s: 120, start_deadline_s: 3_600, concurrency_limit: 1 },
} as const;
export type DeploymentName = keyof typeof DEPLOYMENTS;

/** Of the catalogue, that an organisation has at first: a machine, a workflow, its version and the deployments. */
export const FIRST_RECORDS = 3 + Object.keys(DEPLOYMENTS).length;

/** A GPU that no executor of the cluster has. */
export const MISSING_GPU = 'H100';

/** The input of each workflow that takes a file. */
export const INPUT_FILE = 'file';

/** An organisation with its API key. A stranger owns nothing, and tries to reach what others own. */
export interface Caller {
  readonly org_id: string;
  readonly api_key: string;
}

export interface Organisation extends Caller {
  readonly workflow_id: string;
  readonly machine_id: string;
  readonly deployments: Readonly<Record<DeploymentName, string>>;
}

export const storeStranger = async (log: EventLog, now: Date): Promise<Caller> => {
  const [org_id, user_id] = [newUuid(), newUuid()];
  const created_at = now.toISOString();
  const records = catalogue(log);
  await records.createOrganisation({ id: org_id, name: 'stranger', created_at });
  await records.createUser({ org_id, id: user_id, name: 'stranger', created_at });
  const { key } = await createApiKey(log, {
    org_id,
    user_id,
    name: 'stranger',
    scopes: ['runs:write', 'admin'],
  });
  return { org_id, api_key: key };
};

/** Organisations that share the slots of a GPU model with each other, and with nobody else. */
export interface SharingOrganisations {
  /** Each has far more runs queued than there are slots, all the time. */
  readonly greedy: readonly [Organisation, Organisation];
  /** Has a single run now and then. */
  readonly modest: Organisation;
  /** The most slots that organisations may hold, by id. */
  readonly orgLimits: Readonly<Record<string, number>>;
}

export const storeSharing = async (log: EventLog, now: Date): Promise<SharingOrganisations> => {
  const limited = await storeOrganisation(log, now, 'greedy and limited');
  return {
    greedy: [await storeOrganisation(log, now, 'greedy'), limited],
    modest: await storeOrganisation(log, now, 'modest'),
    orgLimits: { [limited.org_id]: 1 },
  };
};

/** An API key for draining executors, which all organisations share. */
export const storeOperatorKey = async (log: EventLog): Promise<string> => {
  const owner = { org_id: newUuid(), user_id: newUuid() };
  return (await createApiKey(log, { ...owner, name: 'operator', scopes: ['operator'] })).key;
};

/** An organisation with everything that its runs need. */
export const storeOrganisation = async (log: EventLog, now: Date, name = 'soak'): Promise<Organisation> => {
  const [org_id, user_id, machine_id, workflow_id, workflow_version_id] = [
    newUuid(),
    newUuid(),
    newUuid(),
    newUuid(),
    newUuid(),
  ];
  const owned = { org_id, created_at: now.toISOString() };
  const records = catalogue(log);
  await records.createOrganisation({ id: org_id, name, created_at: owned.created_at });
  await records.createUser({ ...owned, id: user_id, name });
  await records.machines.put({
    ...owned,
    id: machine_id,
    name: 'soaked',
    gpu: GPU,
    type: 'soak',
    version: '1',
    runner: { kind: 'program', program: PROGRAM },
    archived: false,
  });
  await records.workflows.put({ ...owned, id: workflow_id, name: 'work', archived: false });
  const workflow = {};
  const inputs = [{ name: INPUT_FILE, type: 'file' as const, required: false }];
  const version = { ...owned, id: workflow_version_id, workflow_id, number: 1, workflow, inputs };
  await records.versions.create(version);
  const deployed = async (of: DeploymentName): Promise<string> => {
    const record: Deployment = {
      ...owned,
      id: newUuid(),
      workflow_id,
      workflow_version_id,
      machine_id,
      name: of,
      environment: 'production',
      ...DEPLOYMENTS[of],
      retry: { attempts: 20 },
      archived: false,
    };
    await records.deployments.put(record);
    return record.id;
  };
  const { key } = await createApiKey(log, { org_id, user_id, name, scopes: ['runs:write', 'admin'] });
  return {
    org_id,
    api_key: key,
    workflow_id,
    machine_id,
    deployments: {
      ordinary: await deployed('ordinary'),
      bulkCancelled: await deployed('bulkCancelled'),
      shortTimeout: await deployed('shortTimeout'),
      shortDeadline: await deployed('shortDeadline'),
      limited: await deployed('limited'),
    },
  };
};
