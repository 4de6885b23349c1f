import {
  Deployment,
  Machine,
  Organisation,
  User,
  Workflow,
  WorkflowVersion,
} from '@runledger/contracts/catalogue';
import { openBucket } from '@runledger/event-log/bucket';
import type { EventLog } from '@runledger/event-log/event-log';
import type { TSchema, Static } from 'typebox';
import { sampleRecords } from './sample-records.ts';
import type { OrganisationIds } from './create-organisation.ts';

/** Stores an organisation, its user and its sample; what is there already stays as it is. */
export const storeRecords = async (
  log: EventLog,
  {
    name,
    ids,
    created_at,
  }: { readonly name: string; readonly ids: OrganisationIds; readonly created_at: string },
): Promise<void> => {
  const { org_id, user_id } = ids;
  const sample = sampleRecords(org_id, ids, created_at);
  const create = async <Schema extends TSchema>(schema: Schema, key: string, record: Static<Schema>) => {
    await openBucket(log, 'CATALOGUE', schema).create(key, record);
  };
  await create(Organisation, `organisations.${org_id}`, { id: org_id, name, created_at });
  await create(User, `users.${org_id}.${user_id}`, { id: user_id, org_id, name: 'operator', created_at });
  await create(Machine, `machines.${org_id}.${sample.machine.id}`, sample.machine);
  await create(Workflow, `workflows.${org_id}.${sample.workflow.id}`, sample.workflow);
  await create(WorkflowVersion, `workflow_versions.${org_id}.${sample.version.id}`, sample.version);
  // Last: whoever finds the deployment finds all that it names.
  await create(Deployment, `deployments.${org_id}.${sample.deployment.id}`, sample.deployment);
};
