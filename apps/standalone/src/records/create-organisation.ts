import { newUuid } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/event-log';
import { newApiKey, storeApiKey } from './api-key.ts';
import { storeRecords } from './store-records.ts';
import type { SampleIds } from './sample-records.ts';

/** Who an organisation is, with the sample that it may run. */
export interface OrganisationIds extends SampleIds {
  readonly org_id: string;
  readonly user_id: string;
}

export const newOrganisationIds = (): OrganisationIds => ({
  org_id: newUuid(),
  user_id: newUuid(),
  machine_id: newUuid(),
  workflow_id: newUuid(),
  workflow_version_id: newUuid(),
  deployment_id: newUuid(),
});

export interface CreatedOrganisation {
  readonly org_id: string;
  readonly api_key: string;
  /** Of the sample. */
  readonly deployment_id: string;
}

/** A new organisation with a user, an API key and the sample. The key is kept nowhere: whoever calls shows it. */
export const createOrganisation = async (
  log: EventLog,
  name: string,
  now: () => Date,
): Promise<CreatedOrganisation> => {
  const ids = newOrganisationIds();
  const created_at = now().toISOString();
  const api_key = newApiKey();
  await storeRecords(log, { name, ids, created_at });
  await storeApiKey(log, api_key, ids, created_at);
  return { org_id: ids.org_id, api_key, deployment_id: ids.deployment_id };
};
