import type { Archive } from '../archive/archive.ts';
import type { Kit } from '../kit.ts';
import { timersOfOrg } from '@runledger/contracts/deliveries/timers';
import type { OrgId } from '@runledger/contracts/ids';
import { orgLogsFilter } from '@runledger/contracts/logs/log-chunk';
import { eraseSubjects } from '@runledger/event-log/streams/erase-subjects';
import type { Bucket } from '@runledger/event-log/streams/bucket';
import {
  FILES,
  UPLOADS,
  removeParts,
  type FileRecords,
  type StoredFile,
  type Upload,
} from '../files/file-records.ts';
import type { OutputStore } from '../files/output-store.ts';

/**
 * What is stored under the id of an organisation and names nothing elsewhere. Its keys, runs and files are erased in other ways, and its
 * erasure, `erasures.<org_id>` in CATALOGUE, stays.
 */
const subjectsOf = (org_id: OrgId): readonly (readonly [stream: string, subjects: string])[] => [
  ['KV_CATALOGUE', `$KV.CATALOGUE.*.${org_id}.>`],
  ['KV_CATALOGUE', `$KV.CATALOGUE.retention.${org_id}`],
  ['KV_CATALOGUE', `$KV.CATALOGUE.organisations.${org_id}`],
  ['KV_WEBHOOK_SECRETS', `$KV.WEBHOOK_SECRETS.${org_id}`],
  ['LOGS', orgLogsFilter(org_id)],
  ['ACTIVITY', `activity.${org_id}.>`],
  ['DELIVERY_ATTEMPTS', `delivery_attempts.${org_id}.>`],
  ['TIMERS', timersOfOrg(org_id)],
];

/** Resolves with how many messages there were. @throws {LogUnavailable} */
export const eraseStored = async (
  { log, stores: { workflows, blobs } }: Kit,
  archive: Archive,
  org_id: OrgId,
): Promise<number> => {
  let erased = (await workflows.eraseAll(org_id)) + (await blobs.eraseAll(org_id));
  erased += await archive.eraseOrganisation(org_id);
  for (const [stream, subjects] of subjectsOf(org_id)) erased += await eraseSubjects(log, stream, subjects);
  return erased;
};

/**
 * Erases all files that clients of an organisation uploaded, and uploads. An upload in progress fails, since its record is gone. The
 * record goes last: it names what is left. @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseFilesOf = async (
  { files, uploads }: FileRecords,
  store: OutputStore,
  org_id: OrgId,
): Promise<number> => {
  const eraseAll = async (bucket: Bucket<StoredFile | Upload>, kind: string): Promise<number> => {
    let erased = 0;
    for (let behind = 0; ; erased += 1) {
      const entry = await bucket.next(`${kind}.${org_id}`, behind);
      if (!entry) return erased;
      const { value, key, revision } = entry;
      const coming = 'coming' in value && value.coming ? [value.coming] : [];
      await removeParts(store, [...value.parts, ...coming]);
      await bucket.eraseAt(key, revision);
      behind = revision;
    }
  };
  return (await eraseAll(files, FILES)) + (await eraseAll(uploads, UPLOADS));
};
