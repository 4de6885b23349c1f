import type { BlobStore, StoredBlob } from '@runledger/blob-store/store/blob-store';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import type { FindUnreferenced } from './unreferenced.ts';

export interface EraseBlobsOptions {
  readonly store: Pick<BlobStore, 'find' | 'get' | 'erase' | 'put'>;
  readonly unreferenced: FindUnreferenced;
  readonly onErased: (blob: StoredBlob) => void;
}

/**
 * Erases those of the blobs at once that nothing refers to. False when that is not known now: call it again later.
 * @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {BlobStoreFull}
 */
export type EraseBlobs = (org_id: OrgId, blobs: readonly BlobRef[]) => Promise<boolean>;

/**
 * A request may begin to refer to a blob while it is erased. One whose reference was stored until the second look gets the bytes back;
 * a later one finds out by `confirm` that they are gone, and stores them.
 */
export const eraseBlobs =
  ({ store, unreferenced, onErased }: EraseBlobsOptions): EraseBlobs =>
  async (org_id, blobs) => {
    const eraseOne = async (blob: StoredBlob): Promise<boolean> => {
      const bytes = await store.get(org_id, blob.sha256);
      await store.erase(blob);
      const free = await unreferenced([blob]).catch((error: unknown) => error);
      if (Array.isArray(free) && free.length > 0) {
        onErased(blob);
        return true;
      }
      if (bytes) await store.put(org_id, bytes);
      if (free instanceof Error) throw free;
      return free !== undefined;
    };
    for (const { sha256 } of blobs) {
      const copy = await store.find(org_id, sha256);
      const free = copy ? await unreferenced([copy]) : [];
      if (free === undefined) return false;
      for (const blob of free) if (!(await eraseOne(blob))) return false;
    }
    return true;
  };
