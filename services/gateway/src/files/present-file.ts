import type { FileUpload, UploadedFile } from '@runledger/contracts/http/files';
import type { Entry } from '@runledger/event-log/streams/bucket';
import { fileExpiresAt, uploadExpiresAt, type FileTimes } from './store/file-lifetime.ts';
import { offsetOf, type StoredFile, type Upload } from './store/file-records.ts';

/** The address of the API, without a slash at the end. */
export type ApiUrl = () => string;

export const presentFile = (entry: Entry<StoredFile>, times: FileTimes, apiUrl: ApiUrl): UploadedFile => {
  const { id, filename, bytes, sha256, content_type } = entry.value;
  const expires_at = new Date(fileExpiresAt(entry, times)).toISOString();
  return { id, url: `${apiUrl()}/files/${id}/content`, filename, bytes, sha256, content_type, expires_at };
};

export const presentUpload = (
  entry: Entry<Upload>,
  file: UploadedFile | null,
  apiUrl: ApiUrl,
): FileUpload => {
  const { id, bytes } = entry.value;
  return {
    id,
    url: `${apiUrl()}/files/uploads/${id}`,
    offset: offsetOf(entry.value),
    bytes,
    expires_at: new Date(uploadExpiresAt(entry)).toISOString(),
    file,
  };
};
