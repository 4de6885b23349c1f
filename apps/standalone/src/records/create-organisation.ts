import { Machine, type KeyScope } from '@runledger/contracts/catalogue/records';
import type { GpuModel } from '@runledger/contracts/gpu';
import { newUuid } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createApiKey } from '@runledger/gateway/records/keys/api-keys';
import { catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import { SAMPLE_GPU, STANDALONE_MACHINE } from './sample-records.ts';
import { storeRecords, type OrganisationIds } from './store-records.ts';

export const newOrganisationIds = (): OrganisationIds => ({
  org_id: newUuid(),
  user_id: newUuid(),
  machine_id: newUuid(),
  workflow_id: newUuid(),
  workflow_version_id: newUuid(),
  deployment_id: newUuid(),
});

/** The scopes of an organisation's first key. */
export const OWNER_SCOPES: readonly KeyScope[] = ['runs:write', 'admin'];

/** The scopes of a key that may also see and drain the executors, which all organisations share. */
export const OPERATOR_SCOPES: readonly KeyScope[] = [...OWNER_SCOPES, 'operator'];

export interface CreatedOrganisation {
  readonly org_id: string;
  readonly api_key: string;
  /** Of the sample. */
  readonly deployment_id: string;
}

/** Creates an organisation with a user, an API key and the sample. The key is not stored: the caller shows it. */
export const createOrganisation = async (
  log: EventLog,
  name: string,
  now: () => Date,
  scopes = OWNER_SCOPES,
): Promise<CreatedOrganisation> => {
  const ids = newOrganisationIds();
  const { org_id, user_id, deployment_id } = ids;
  const gpu = await gpuInUse(log);
  await storeRecords(catalogue(log), { name, ids, created_at: now().toISOString(), gpu });
  const { key } = await createApiKey(log, { org_id, user_id, name: 'first key', scopes });
  return { org_id, api_key: key, deployment_id };
};

/** The model of the standalone's machine, so that the sample of the new organisation can run there. */
const gpuInUse = async (log: EventLog): Promise<GpuModel> => {
  const machines = await openBucket(log, 'CATALOGUE', Machine).list('machines');
  return machines.find(({ value }) => value.type === STANDALONE_MACHINE)?.value.gpu ?? SAMPLE_GPU;
};
