import { newUuid, type OrgId } from '@runledger/contracts/ids';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { FileUpload, UploadedFile } from '@runledger/contracts/http/files';
import { recordPage, type RecordPage, type RecordSpan } from '../records/catalogue/records.ts';
import { Refused } from '../door/refusal.ts';
import { fileRetentionMs } from '../config.ts';
import { apiUrl, type Kit } from '../kit.ts';
import type { OutputStore } from './output-store.ts';
import {
  fileExpiresAt,
  uploadExpiresAt,
  fileKey,
  fileSortKey,
  isComplete,
  uploadKey,
  removeParts,
  offsetOf,
  type FileTimes,
  type RetainedFile,
  type FileRecords,
  type StoredFile,
  type Upload,
} from './file-records.ts';
import {
  beginUpload,
  finishUpload,
  shared,
  untilUnchanged,
  type BeginUpload,
  type FileToUpload,
} from './uploads.ts';
import { receiveUpload, type ReceiveUpload } from './receive-upload.ts';

/** Files that clients upload, by organisation. Every method may throw LogUnavailable, those with bytes also OutputStoreUnavailable. */
export interface Files {
  /** @throws {Refused} when the file is too large, or for a quota */
  begin(org_id: OrgId, file: FileToUpload): Promise<Entry<Upload>>;
  /** Stores the bytes that follow in an upload, and makes its file when these were the last. @throws {Refused} */
  receive(upload: Entry<Upload>, body: AsyncIterable<Uint8Array>): Promise<Entry<Upload>>;
  /** The file of an upload that has all its bytes; undefined when it was deleted. */
  finish(upload: Entry<Upload>): Promise<Entry<StoredFile> | undefined>;
  /** Stores a whole file, or nothing of it. @throws {Refused} */
  store(org_id: OrgId, file: FileToUpload, body: AsyncIterable<Uint8Array>): Promise<Entry<StoredFile>>;
  find(org_id: OrgId, id: string): Promise<Entry<StoredFile> | undefined>;
  list(org_id: OrgId, span: RecordSpan): Promise<RecordPage<UploadedFile>>;
  findUpload(org_id: OrgId, id: string): Promise<Entry<Upload> | undefined>;
  /** Keeps a file for a run that is queued now, until it has ended. */
  use(org_id: OrgId, id: string): Promise<'kept' | 'unknown' | 'expires_soon'>;
  /** False when there is none, or when only one that a single run named is to be removed and others named it. */
  remove(org_id: OrgId, id: string, which?: 'any' | 'of_one_run'): Promise<boolean>;
  removeUpload(upload: Entry<Upload>): Promise<void>;
  /** As clients see it. */
  shown(file: Entry<StoredFile>): Promise<UploadedFile>;
  /** `file`: once it is finished. */
  uploadResponse(upload: Entry<Upload>, file?: Entry<StoredFile>): Promise<FileUpload>;
  /** How long a file is kept from its last use on. */
  readonly retentionMs: number;
}

type FileQuotas = BeginUpload['quotas'] & ReceiveUpload['quotas'];

/** What storing a file takes. */
interface Storing extends BeginUpload, ReceiveUpload {
  readonly records: FileRecords;
  readonly quotas: FileQuotas;
}

export const openFiles = (
  kit: Kit,
  records: FileRecords,
  store: OutputStore,
  quotas: FileQuotas,
  brokerTime: () => Promise<Date>,
): Files => {
  const { config, clock, logger, metrics } = kit;
  const retentionMs = fileRetentionMs(config);
  const storing: Storing = {
    records,
    store,
    quotas,
    brokerTime,
    clock,
    logger,
    maxBytes: config.RUNLEDGER_FILE_MAX_BYTES,
    newId: newUuid,
    onUploaded: metrics.uploaded,
  };
  const times = async (): Promise<FileTimes> => ({
    fileRetentionMs: retentionMs,
    partRetentionMs: await store.keepsForMs(),
  });
  const now = async (): Promise<number> => (await brokerTime()).getTime();
  const find: Files['find'] = async (org_id, id) => {
    const file = await records.files.get(fileKey({ org_id, id }));
    return file && (await now()) < fileExpiresAt(file, await times()) ? file : undefined;
  };
  const shown: Files['shown'] = async (file) => presentFile(file, await times(), apiUrl(kit));
  return {
    retentionMs,
    shown,
    uploadResponse: async (upload, file) => ({
      id: upload.value.id,
      url: `${apiUrl(kit)}/files/uploads/${upload.value.id}`,
      offset: offsetOf(upload.value),
      bytes: upload.value.bytes,
      expires_at: new Date(uploadExpiresAt(upload)).toISOString(),
      file: file ? await shown(file) : null,
    }),
    begin: (org_id, file) => beginUpload(storing, org_id, file),
    receive: async (begun, body) => {
      const { upload, sha256 } = await receiveUpload(storing, begun, body);
      if (isComplete(upload.value)) await finishUpload(storing, upload, sha256);
      return (await records.uploads.get(upload.key)) ?? upload;
    },
    finish: (upload) => finishUpload(storing, upload),
    store: (org_id, file, body) => storeWhole(storing, org_id, file, body),
    find,
    list: async (org_id, span) => {
      const [stored, present, known] = await Promise.all([records.files.of(org_id).now(), now(), times()]);
      const page = recordPage(
        stored.newestFirst(),
        span,
        (file) => present < fileExpiresAt(file, known),
        ({ value }) => fileSortKey(value),
      );
      return { ...page, items: page.items.map((file) => presentFile(file, known, apiUrl(kit))) };
    },
    findUpload: async (org_id, id) => {
      const upload = await records.uploads.get(uploadKey({ org_id, id }));
      return upload && (await now()) < uploadExpiresAt(upload) ? upload : undefined;
    },
    use: (org_id, id) =>
      untilUnchanged(id, async () => {
        const file = await find(org_id, id);
        if (!file) return 'unknown';
        const [present, { partRetentionMs }] = await Promise.all([now(), times()]);
        if (Date.parse(file.value.stored_at) + partRetentionMs < present + retentionMs) return 'expires_soon';
        const isRecent = present < file.changedAt.getTime() + retentionMs * USE_WRITTEN_PART;
        if (isRecent && !file.value.of_one_run) return 'kept';
        const revision = await records.files.update(file.key, shared(file.value), file.revision);
        return revision === false ? 'changed' : 'kept';
      }),
    remove: (org_id, id, which = 'any') =>
      untilUnchanged(id, async () => {
        const file = await find(org_id, id);
        if (!file || (which === 'of_one_run' && !file.value.of_one_run)) return false;
        if (!(await records.files.eraseAt(file.key, file.revision))) return 'changed';
        await removeParts(store, file.value.parts);
        return true;
      }),
    removeUpload: (upload) => removeUpload(storing, upload),
  };
};

/** A use is written down only when the last one is older than this part of the time for which a file is kept. */
const USE_WRITTEN_PART = 1 / 24;

const storeWhole = async (
  storing: Storing,
  org_id: OrgId,
  file: FileToUpload,
  body: AsyncIterable<Uint8Array>,
): Promise<Entry<StoredFile>> => {
  const begun = await beginUpload(storing, org_id, file);
  try {
    const { upload, sha256 } = await receiveUpload(storing, begun, body);
    if (sha256 === undefined)
      throw new Refused({
        code: 'body_incomplete',
        why: 'The upload was interrupted; nothing of it was stored',
      });
    const stored = await finishUpload(storing, upload, sha256);
    if (stored) return stored;
    throw new Error(`The new file of upload ${begun.value.id} was deleted at once.`);
  } finally {
    const upload = await storing.records.uploads.get(begun.key).catch(() => undefined);
    // What stays expires.
    if (upload) await removeUpload(storing, upload).catch(() => undefined);
  }
};

/** The parts of a file belong to the file. */
const removeUpload = async (
  { records, store }: Storing,
  { key, value: { parts, coming, file_id } }: Entry<Upload>,
): Promise<void> => {
  await records.uploads.erase(key);
  if (file_id === null) await removeParts(store, [...parts, ...(coming ? [coming] : [])]);
};

const presentFile = (entry: Entry<RetainedFile>, times: FileTimes, apiUrl: string): UploadedFile => {
  const { id, filename, bytes, sha256, content_type } = entry.value;
  const expires_at = new Date(fileExpiresAt(entry, times)).toISOString();
  return { id, url: `${apiUrl}/files/${id}/content`, filename, bytes, sha256, content_type, expires_at };
};
