import type { GpuModel } from '@runledger/contracts/gpu';
import type { Catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import { sampleRecords, type SampleIds } from './sample-records.ts';

/** The ids of an organisation, its user and its sample. */
export interface OrganisationIds extends SampleIds {
  readonly org_id: string;
  readonly user_id: string;
}

export interface NewOrganisation {
  readonly name: string;
  readonly ids: OrganisationIds;
  readonly created_at: string;
  /** The GPU of its sample. */
  readonly gpu: GpuModel;
}

/** Stores an organisation, its user and its sample. Existing records stay unchanged. */
export const storeRecords = async (
  records: Catalogue,
  { name, ids, created_at, gpu }: NewOrganisation,
): Promise<void> => {
  const { org_id, user_id } = ids;
  const { machine, workflow, version, deployment } = sampleRecords(org_id, ids, created_at, gpu);
  await records.createOrganisation({ id: org_id, name, created_at });
  await records.createUser({ id: user_id, org_id, name: 'operator', created_at });
  if ((await records.machines.get(org_id, machine.id)) === undefined) await records.machines.put(machine);
  if ((await records.workflows.get(org_id, workflow.id)) === undefined) await records.workflows.put(workflow);
  await records.versions.create(version);
  // Last: a reader that finds the deployment must find all records that it names.
  if ((await records.deployments.get(org_id, deployment.id)) === undefined)
    await records.deployments.put(deployment);
};
