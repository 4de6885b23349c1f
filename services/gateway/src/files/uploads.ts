import { createHash } from 'node:crypto';
import { safeFileName } from '@runledger/contracts/file-name';
import { orgId, type OrgId } from '@runledger/contracts/ids';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { Entry } from '@runledger/event-log/streams/bucket';
import { contentTypeIn } from '../door/responses.ts';
import { Refused } from '../door/refusal.ts';
import { withinQuota } from '../records/quotas/quotas.ts';
import type { QuotaBound } from '../records/quotas/quota-bound.ts';
import {
  uploadKey,
  fileKey,
  readParts,
  removeParts,
  type FileRecords,
  type StoredFiles,
  type Upload,
  type Part,
  type StoredFile,
} from './file-records.ts';
import type { OutputStore } from './output-store.ts';
import { uuid8 } from '@runledger/contracts/ids';

/** What a client says about a file before it sends it. */
export interface FileToUpload {
  readonly filename: string;
  readonly content_type: string;
  readonly bytes: number;
  /** It is made of an input of a run, or sent to be kept as a model, and goes with that. */
  readonly of_one_run?: true;
}

export interface BeginUpload {
  readonly records: { readonly uploads: Pick<FileRecords['uploads'], 'create'> };
  readonly quotas: Readonly<Record<'files' | 'file_bytes', Pick<QuotaBound, 'limit' | 'within'>>>;
  readonly maxBytes: number;
  readonly newId: () => string;
  /** The broker's time. */
  readonly brokerTime: () => Promise<Date>;
}

/** From now on the whole file counts to the quota. @throws {Refused} @throws {LogUnavailable} */
export const beginUpload = async (
  options: BeginUpload,
  org_id: OrgId,
  { filename, content_type: type, bytes, of_one_run }: FileToUpload,
): Promise<Entry<Upload>> => {
  const { records, maxBytes, newId, brokerTime } = options;
  if (bytes > maxBytes) {
    const why = `A file may have at most ${maxBytes} bytes (RUNLEDGER_FILE_MAX_BYTES), and this one has ${bytes}`;
    throw new Refused({ code: 'file_too_large', why });
  }
  const content_type = contentTypeIn(type);
  const begunAt = await brokerTime();
  const upload: Upload = {
    id: newId(),
    org_id,
    filename: safeFileName(filename, content_type),
    content_type,
    bytes,
    parts: [],
    begun_at: begunAt.toISOString(),
    coming: null,
    file_id: null,
    ...(of_one_run && { of_one_run }),
  };
  const key = uploadKey(upload);
  const revision = await withinQuotas(options, org_id, bytes, () => records.uploads.create(key, upload));
  // It is not read again: a leader of the broker that was replaced and does not know it yet may answer without it.
  if (revision !== false) return { key, value: upload, revision, changedAt: begunAt };
  throw new LogUnavailable('The broker did not say whether the upload has begun. Try again');
};

const withinQuotas = (
  { quotas: { files, file_bytes } }: BeginUpload,
  org_id: OrgId,
  bytes: number,
  create: () => Promise<number | false>,
): Promise<number | false> => {
  const tooMany = `The organisation has ${files.limit} files and uploads, which is its limit (RUNLEDGER_QUOTA_FILES). Delete some, or wait until they expire`;
  const tooLarge = `With this file the files and uploads of the organisation would have more than its limit of ${file_bytes.limit} bytes (RUNLEDGER_QUOTA_FILE_BYTES). Delete some, or wait until they expire`;
  const withinBytes = () => withinQuota(file_bytes, org_id, bytes, create, tooLarge);
  return withinQuota(files, org_id, 1, withinBytes, tooMany);
};

/**
 * Makes the file of an upload that has all its bytes. It may be repeated by any gateway, also after a kill: the upload names its
 * file before the file has the parts, and loses them after it. Undefined when the file was deleted meanwhile.
 * @throws {OutputStoreUnavailable} @throws {LogUnavailable}
 */
export const finishUpload = async (
  { records, store }: StoredFiles,
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

/** Equal bytes are stored once: the older parts stay, unless the store will expire them soon. */
const keepFile = ({ records, store }: StoredFiles, file: StoredFile): Promise<Entry<StoredFile>> => {
  const key = fileKey(file);
  return untilUnchanged(file.id, async () => {
    const present = await records.files.get(key);
    if (!present) {
      await records.files.create(key, file);
      return 'changed';
    }
    if (file.bytes > 0 && isSame(present.value.parts, file.parts)) return present;
    const age = Date.parse(file.stored_at) - Date.parse(present.value.stored_at);
    const isOld = age > (await store.keepsForMs()) / 2;
    const { filename, content_type } = file;
    const changed = shared(isOld ? file : { ...present.value, filename, content_type });
    if ((await records.files.update(key, changed, present.revision)) === false) return 'changed';
    await removeParts(store, isOld ? present.value.parts : file.parts);
    return (await records.files.get(key)) ?? 'changed';
  });
};

const MAX_TRIES = 50;

/** Does it again while the record of the file was changed in between. */
export const untilUnchanged = async <Result>(
  id: string,
  change: () => Promise<Result | 'changed'>,
): Promise<Result> => {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const result = await change();
    if (result !== 'changed') return result;
  }
  throw new Error(`The record of file ${id} changed again and again.`);
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

/** The id of the file with these bytes. Other organisations have another id for equal bytes, so none learns what others have. */
const fileIdOf = (org_id: OrgId, sha256: string): string =>
  uuid8(createHash('sha256').update(`file\n${org_id}\n${sha256}`).digest());
