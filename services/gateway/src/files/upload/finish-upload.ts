import { createHash } from 'node:crypto';
import { orgId } from '@runledger/contracts/ids';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { OutputStore } from '../../outputs/store/output-store.ts';
import { fileIdOf } from '../store/file-id.ts';
import {
  fileKey,
  uploadKey,
  type FileRecords,
  type Part,
  type StoredFile,
  type Upload,
} from '../store/file-records.ts';
import { readParts } from '../store/read-parts.ts';
import { removeParts } from '../store/remove-parts.ts';

export interface FinishUpload {
  readonly records: FileRecords;
  readonly store: OutputStore;
}

/**
 * Makes the file of an upload that has all its bytes. It may be repeated by any gateway, also after a kill: the upload names its
 * file before the file has the parts, and loses them after it. Undefined when the file was deleted meanwhile.
 * @throws {OutputStoreUnavailable} @throws {LogUnavailable}
 */
export const finishUpload = async (
  { records, store }: FinishUpload,
  upload: Entry<Upload>,
  known?: string,
): Promise<Entry<StoredFile> | undefined> => {
  const { file_id, parts, ...rest } = upload.value;
  const org_id = orgId(rest.org_id);
  const isBegun = file_id !== null;
  if (isBegun && parts.length === 0 && rest.bytes > 0)
    return records.files.get(fileKey({ org_id, id: file_id }));
  if (isBegun && !(await areStored(store, parts))) return undefined;
  const sha256 = known ?? (await hashOf(store, parts));
  const id = fileIdOf(org_id, sha256);
  const named = { ...upload.value, file_id: id, coming: null };
  const revision = await records.uploads.update(uploadKey(named), named, upload.revision);
  // Another request finishes it, or it was erased.
  if (revision === false) return records.files.get(fileKey({ org_id, id }));
  const { filename, content_type, bytes, begun_at, of_one_run } = rest;
  const described = { id, org_id, filename, content_type, bytes, parts, sha256, stored_at: begun_at };
  const file = of_one_run ? { ...described, of_one_run } : described;
  const kept = await keepFile({ records, store }, file);
  await records.uploads.update(uploadKey(named), { ...named, parts: [] }, revision);
  return kept;
};

const MAX_TRIES = 50;

/** Equal bytes are stored once: the older parts stay, unless the store will expire them soon. */
const keepFile = async ({ records, store }: FinishUpload, file: StoredFile): Promise<Entry<StoredFile>> => {
  const key = fileKey(file);
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const present = await records.files.get(key);
    if (!present) {
      await records.files.create(key, file);
      continue;
    }
    if (file.bytes > 0 && isSame(present.value.parts, file.parts)) return present;
    const age = Date.parse(file.stored_at) - Date.parse(present.value.stored_at);
    const isOld = age > (await store.keepsForMs()) / 2;
    const { filename, content_type } = file;
    const changed = shared(isOld ? file : { ...present.value, filename, content_type });
    const revision = await records.files.update(key, changed, present.revision);
    if (revision === false) continue;
    await removeParts(store, isOld ? present.value.parts : file.parts);
    const entry = await records.files.get(key);
    if (entry) return entry;
  }
  throw new Error(`The record of file ${file.id} changed again and again.`);
};

/** Several have named it. */
export const shared = ({ of_one_run: _flag, ...file }: StoredFile): StoredFile => file;

const isSame = (some: readonly Part[], others: readonly Part[]): boolean =>
  some.length === others.length && some.every(({ key }, index) => key === others[index]?.key);

const areStored = async (store: OutputStore, parts: readonly Part[]): Promise<boolean> => {
  for (const { key } of parts) if (!(await store.find(key))) return false;
  return true;
};

const hashOf = async (store: OutputStore, parts: readonly Part[]): Promise<string> => {
  const hash = createHash('sha256');
  for await (const piece of readParts(store, parts)) hash.update(piece);
  return hash.digest('hex');
};
