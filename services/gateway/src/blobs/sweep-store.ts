import type { BlobStore, StoredBlob } from '@runledger/blob-store/store/blob-store';
import { oldBlobs } from './core/old-blobs.ts';
import type { FindUnreferenced } from './unreferenced.ts';

export interface SweepStoreOptions {
  readonly store: Pick<BlobStore, 'list' | 'erase'>;
  readonly unreferenced: FindUnreferenced;
  /** A younger blob may be referred to by a request in progress. */
  readonly erasedAfterMs: number;
  readonly onErased: (blob: StoredBlob) => void;
}

const AT_ONCE = 500;
const IN_A_ROUND = 50_000;

/**
 * A round looks at the next blobs, from where the last one has ended, and erases those that nothing refers to. After a kill
 * the next process begins anew: what is erased twice is gone once.
 */
export const sweepStore = (options: SweepStoreOptions): ((stop: AbortSignal) => Promise<void>) => {
  const { store, unreferenced, erasedAfterMs, onErased } = options;
  let behind = 0;
  return async (stop) => {
    for (let seen = 0; seen < IN_A_ROUND && !stop.aborted; seen += AT_ONCE) {
      const listed = await store.list(behind, AT_ONCE);
      const old = oldBlobs(listed, erasedAfterMs);
      for (const blob of old.length === 0 ? [] : ((await unreferenced(old)) ?? [])) {
        if (stop.aborted) return;
        await store.erase(blob);
        onErased(blob);
      }
      const last = old.at(-1);
      if (last === undefined || old.length < AT_ONCE) {
        // The others are younger.
        behind = 0;
        return;
      }
      behind = last.copy;
    }
  };
};
