import type { BlobRef } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { RunViews } from '../projection/run-views.ts';

/**
 * What this gateway stored in BLOBS lately. A blob whose run was refused takes room until it is erased, and no run says so:
 * without this memory, refused requests could fill the store.
 */
export interface RecentBlobs {
  add(org_id: OrgId, blob: BlobRef): void;
  has(org_id: OrgId, sha256: string): boolean;
  /** Bytes of those that no run refers to. @throws {ViewsUnavailable} */
  unreferencedBytes(org_id: OrgId): Promise<number>;
}

export interface RecentBlobsOptions {
  readonly views: Pick<RunViews, 'referredBlobs'>;
  /** How long a blob that nothing refers to may stay in the store. */
  readonly keptForMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

interface Recent {
  readonly bytes: number;
  readonly until: number;
}

const MAX_ORGANISATIONS = 10_000;

export const recentBlobs = ({ views, keptForMs, clock }: RecentBlobsOptions): RecentBlobs => {
  const kept = new LRUCache<OrgId, Map<string, Recent>>({
    ...atMost(MAX_ORGANISATIONS),
    memoMethod: () => new Map(),
  });
  return {
    add: (org_id, { sha256, bytes }) => {
      kept.memo(org_id).set(sha256, { bytes, until: clock() + keptForMs });
    },
    has: (org_id, sha256) => (kept.get(org_id)?.get(sha256)?.until ?? 0) > clock(),
    unreferencedBytes: async (org_id) => {
      const blobs = kept.get(org_id);
      if (!blobs || blobs.size === 0) return 0;
      for (const [sha256, { until }] of blobs) if (until <= clock()) blobs.delete(sha256);
      // The views count these.
      for (const sha256 of await views.referredBlobs(org_id, 'BLOBS', [...blobs.keys()]))
        blobs.delete(sha256);
      return [...blobs.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    },
  };
};
