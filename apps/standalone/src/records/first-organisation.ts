import { randomBytes } from 'node:crypto';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createApiKey, revokeApiKey } from '@runledger/gateway/records/keys/api-keys';
import { catalogue, type Catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import { Type } from 'typebox';
import { readJsonFile } from '../data-folder/connection-files.ts';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { StartRefused } from '../settings.ts';
import { newOrganisationIds, OPERATOR_SCOPES } from './create-organisation.ts';
import { storeRecords } from './store-records.ts';

const Uuid = Type.String({ format: 'uuid' });
const FirstOrganisation = Type.Object({
  org_id: Uuid,
  user_id: Uuid,
  machine_id: Uuid,
  workflow_id: Uuid,
  workflow_version_id: Uuid,
  deployment_id: Uuid,
  api_key: Type.String({ minLength: 1 }),
  created_at: Type.String(),
});
export type FirstOrganisation = Type.Static<typeof FirstOrganisation>;

const FILE = 'first-organisation.json';

/**
 * The organisation, user, key and sample of this standalone. The first start writes their ids and the key to a file before
 * it stores them, so that the next start completes an interrupted one. A given key replaces the saved one.
 */
export const openFirstOrganisation = async (
  folder: DataFolder,
  log: EventLog,
  {
    apiKey,
    gpu,
    now,
  }: { readonly apiKey: string | undefined; readonly gpu: GpuModel; readonly now: () => Date },
): Promise<FirstOrganisation> => {
  const kept = await readSaved(folder);
  const first = kept ?? newFirstOrganisation(apiKey ?? newKey(), now());
  if (kept === undefined) await save(folder, first);
  const { org_id, user_id } = first;
  const records = catalogue(log);
  if (await records.wasErased(org_id))
    throw new StartRefused(
      `The organisation of this standalone was erased. Remove ${folder.at(FILE)} to start with a new organisation and key.`,
    );
  await storeRecords(records, { name: 'first organisation', ids: first, created_at: first.created_at, gpu });
  await updateMachineGpu(records, first, gpu);
  const key = apiKey ?? first.api_key;
  await createApiKey(log, { org_id, user_id, name: 'first key', key, scopes: OPERATOR_SCOPES });
  if (key === first.api_key) return first;
  // Revoke the old key before its text is lost: an unknown key must not stay valid.
  await revokeApiKey(log, first.api_key);
  const changed = { ...first, api_key: key };
  await save(folder, changed);
  return changed;
};

const newFirstOrganisation = (api_key: string, now: Date): FirstOrganisation => ({
  ...newOrganisationIds(),
  api_key,
  created_at: now.toISOString(),
});

const newKey = (): string => `rl_${randomBytes(32).toString('base64url')}`;

const save = (folder: DataFolder, first: FirstOrganisation): Promise<void> =>
  writePrivateFile(folder.at(FILE), `${JSON.stringify(first)}\n`);

const readSaved = async (folder: DataFolder): Promise<FirstOrganisation | undefined> => {
  const file = await readJsonFile(folder.at(FILE), FirstOrganisation);
  switch (file.kind) {
    case 'found':
      return file.content;
    case 'missing':
      return undefined;
    case 'unusable':
      throw new StartRefused(
        `${file.path} cannot be used: ${file.why}. Restore it from a copy, or remove it to start with a new organisation and key.`,
      );
  }
};

/** The GPU may have changed since the last start, and the sample must run on the present one. */
const updateMachineGpu = async (
  records: Catalogue,
  first: FirstOrganisation,
  gpu: GpuModel,
): Promise<void> => {
  const machine = await records.machines.get(first.org_id, first.machine_id);
  if (machine !== undefined && machine.gpu !== gpu) await records.machines.put({ ...machine, gpu });
};
