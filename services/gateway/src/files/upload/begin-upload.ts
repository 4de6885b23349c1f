import { safeFileName } from '@runledger/contracts/file-name';
import type { OrgId } from '@runledger/contracts/ids';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { Entry } from '@runledger/event-log/streams/bucket';
import { contentTypeIn } from '../../http/content-type.ts';
import { Refused } from '../../http/refusal.ts';
import { overQuota } from '../../quotas/over-quota.ts';
import type { QuotaBound } from '../../quotas/quota-bound.ts';
import { uploadKey, type FileRecords, type Upload } from '../store/file-records.ts';

/** What a client says about a file before it sends it. */
export interface FileToUpload {
  readonly filename: string;
  readonly content_type: string;
  readonly bytes: number;
  /** It is an input of a run, and nobody uploads it. */
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

const withinQuotas = async (
  { quotas: { files, file_bytes } }: BeginUpload,
  org_id: OrgId,
  bytes: number,
  create: () => Promise<number | false>,
): Promise<number | false> => {
  const result = await files.within(org_id, 1, async () => {
    const created = await file_bytes.within(org_id, bytes, create);
    return created === 'over_quota' ? 'too_many_bytes' : created;
  });
  if (result === 'over_quota')
    throw overQuota(
      `The organisation has ${files.limit} files and uploads, which is its limit (RUNLEDGER_QUOTA_FILES). Delete some, or wait until they expire`,
    );
  if (result === 'too_many_bytes')
    throw overQuota(
      `With this file the files and uploads of the organisation would have more than its limit of ${file_bytes.limit} bytes (RUNLEDGER_QUOTA_FILE_BYTES). Delete some, or wait until they expire`,
    );
  return result;
};
