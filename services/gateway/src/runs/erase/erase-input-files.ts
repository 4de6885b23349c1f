import { readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import { namedFiles, readFileValue } from '@runledger/contracts/catalogue/file-inputs';
import type { LeftToErase } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import { isJsonObject } from '@runledger/contracts/json';
import type { Files } from '../../files/files.ts';

export interface EraseInputFilesOptions {
  readonly files: Pick<Files, 'remove'>;
  readonly blobs: Pick<BlobStore, 'get'>;
}

/** Erases the files that were made of a run's inputs and that nobody else named. @throws {LogUnavailable} @throws {OutputStoreUnavailable} */
export type EraseInputFiles = (org_id: OrgId, files: LeftToErase['files']) => Promise<void>;

export const eraseInputFiles =
  ({ files, blobs }: EraseInputFilesOptions): EraseInputFiles =>
  async (org_id, named) => {
    if (!named) return;
    const { names, inputs, inputs_blob } = named;
    const kept = readInlineOrBlob(inputs, inputs_blob);
    const found = kept.kind === 'inline' ? kept : await readJsonBlob(blobs, org_id, kept.ref.sha256);
    // Inputs that are lost name nothing any more: these files expire.
    if (!('value' in found) || !isJsonObject(found.value)) return;
    for (const name of names) {
      for (const value of namedFiles(found.value[name])) {
        const file = readFileValue(value);
        if (file?.kind === 'id') await files.remove(org_id, file.id, 'of_one_run');
      }
    }
  };
