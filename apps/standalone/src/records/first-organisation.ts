import { randomBytes } from 'node:crypto';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createApiKey, revokeApiKey } from '@runledger/gateway/auth/api-keys';
import { catalogue } from '@runledger/gateway/catalogue';
import type { Catalogue } from '@runledger/gateway/catalogue';
import { Type } from 'typebox';
import { readJsonFile } from '../data-folder/connection-files.ts';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { StartRefused } from '../settings/start-refused.ts';
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
 * The organisation, user, key and sample of this standalone. Its ids and key are decided once and kept in a file
 * before anything is stored, so that a start that was cut off is finished by the next one. A given key replaces the kept one.
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
  const kept = await readKept(folder);
  const first = kept ?? fresh(apiKey ?? newKey(), now());
  if (kept === undefined) await keep(folder, first);
  const { org_id, user_id } = first;
  const records = catalogue(log);
  await storeRecords(records, { name: 'first organisation', ids: first, created_at: first.created_at, gpu });
  await fitMachine(records, first, gpu);
  const key = apiKey ?? first.api_key;
  await createApiKey(log, { org_id, user_id, name: 'first key', key, scopes: OPERATOR_SCOPES });
  if (key === first.api_key) return first;
  // The old key is taken back before it is forgotten: it must not live on unknown to anybody.
  await revokeApiKey(log, first.api_key);
  const changed = { ...first, api_key: key };
  await keep(folder, changed);
  return changed;
};

const fresh = (api_key: string, now: Date): FirstOrganisation => ({
  ...newOrganisationIds(),
  api_key,
  created_at: now.toISOString(),
});

const newKey = (): string => `rl_${randomBytes(32).toString('base64url')}`;

const keep = (folder: DataFolder, first: FirstOrganisation): Promise<void> =>
  writePrivateFile(folder.at(FILE), `${JSON.stringify(first)}\n`);

const readKept = async (folder: DataFolder): Promise<FirstOrganisation | undefined> => {
  const file = await readJsonFile(folder.at(FILE), FirstOrganisation);
  switch (file.kind) {
    case 'found':
      return file.content;
    case 'missing':
      return undefined;
    case 'unusable':
      throw new StartRefused(
        `${file.path} cannot be used: ${file.why}. Restore it from a copy, or remove it to begin with a new organisation and key.`,
      );
  }
};

/** This machine may offer another GPU than at the last start, and the sample has to run on what is there. */
const fitMachine = async (records: Catalogue, first: FirstOrganisation, gpu: GpuModel): Promise<void> => {
  const machine = await records.getMachine(first.org_id, first.machine_id);
  if (machine !== undefined && machine.gpu !== gpu) await records.putMachine({ ...machine, gpu });
};
