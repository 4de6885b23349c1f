import type { OrgId } from '@runledger/contracts/ids';
import type { Bucket } from '@runledger/event-log/streams/bucket';
import {
  FILES,
  UPLOADS,
  type FileRecords,
  type StoredFile,
  type Upload,
} from '../files/store/file-records.ts';
import { removeParts } from '../files/store/remove-parts.ts';
import type { OutputStore } from '../outputs/store/output-store.ts';

export interface EraseFilesOptions {
  readonly records: FileRecords;
  readonly store: Pick<OutputStore, 'remove'>;
}

/**
 * Erases all files that clients of an organisation uploaded, and uploads. An upload in progress fails, since its record is gone. The
 * record goes last: it names what is left. @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseFilesOf = async (
  { records: { files, uploads }, store }: EraseFilesOptions,
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
