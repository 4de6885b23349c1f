import { sha256Of, BlobStoreFull, type BlobStore } from '@runledger/blob-store/blob-store';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { RunViews } from '../../views/run-views.ts';
import { UNREFERENCED_FOR_MS } from './sweep-times.ts';
import { openQuotaBound, type QuotaBound, type QuotaBoundOptions } from './quota-bound.ts';

/** Limits the bytes of inputs and lists of outputs in BLOBS. Equal bytes of an organisation count once, as they are stored once. */
export interface BlobQuota extends Pick<QuotaBound, 'limit' | 'used'> {
  /**
   * Stores bytes, unless the organisation would then exceed its quota.
   * @throws {BlobStoreFull} @throws {LogUnavailable} @throws {ViewsUnavailable}
   */
  put(org_id: OrgId, bytes: Uint8Array): Promise<BlobRef | 'over_quota'>;
}

interface BlobQuotaOptions extends Pick<QuotaBoundOptions, 'limit' | 'becomeFresh' | 'onRefused' | 'clock'> {
  readonly blobs: BlobStore;
  readonly views: RunViews;
}

export const openBlobQuota = (options: BlobQuotaOptions): BlobQuota & Disposable => {
  const { limit, blobs, views, becomeFresh, onRefused, clock } = options;
  const recent = recentBlobs(views, clock);
  const bound = openQuotaBound({
    limit,
    count: async (org_id) => {
      const unreferenced = await recent.unreferencedBytes(org_id);
      return unreferenced + (await views.sumBlobBytes(org_id));
    },
    becomeFresh: async (org_id) => {
      await becomeFresh(org_id);
      // What the views lack of this gateway is counted as recent.
      return true;
    },
    // A refusal is final only when the bytes are new.
    onRefused: () => undefined,
    clock,
  });
  return {
    limit,
    used: bound.used,
    put: async (org_id, bytes) => {
      const ref = { sha256: sha256Of(bytes), bytes: bytes.byteLength };
      const store = async (): Promise<BlobRef> => {
        try {
          const stored = await blobs.put(org_id, bytes);
          recent.add(org_id, stored);
          return stored;
        } catch (error) {
          // It may be stored although nothing confirmed it.
          if (!(error instanceof BlobStoreFull)) recent.add(org_id, ref);
          throw error;
        }
      };
      if (recent.has(org_id, ref.sha256)) return store();
      const result = await bound.within(org_id, ref.bytes, store);
      if (result !== 'over_quota') return result;
      const counted = await views.referredBlobs(org_id, 'BLOBS', [ref.sha256]);
      if (counted.has(ref.sha256)) return store();
      onRefused(org_id);
      return 'over_quota';
    },
    [Symbol.dispose]: () => bound[Symbol.dispose](),
  };
};

const MAX_ORGANISATIONS = 10_000;

/**
 * What this gateway stored in BLOBS lately. A blob whose run was refused takes room until it is erased, and no run says so:
 * without this memory, refused requests could fill the store.
 */
const recentBlobs = (views: RunViews, clock: () => number) => {
  const kept = new LRUCache<OrgId, Map<string, { readonly bytes: number; readonly until: number }>>({
    ...atMost(MAX_ORGANISATIONS),
    memoMethod: () => new Map(),
  });
  return {
    add: (org_id: OrgId, { sha256, bytes }: BlobRef): void => {
      kept.memo(org_id).set(sha256, { bytes, until: clock() + UNREFERENCED_FOR_MS });
    },
    has: (org_id: OrgId, sha256: string): boolean => (kept.get(org_id)?.get(sha256)?.until ?? 0) > clock(),
    /** Bytes of those that no run refers to. @throws {ViewsUnavailable} */
    unreferencedBytes: async (org_id: OrgId): Promise<number> => {
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

interface HeldQuotaOptions<Holder extends string> {
  /** How many a holder may have at once, at this gateway. */
  readonly limit: number;
  readonly onRefused: (holder: Holder) => void;
}

/** Limits what each organisation, or another holder, has at this gateway for a time, such as open streams. */
export interface HeldQuota<Holder extends string = OrgId> {
  readonly limit: number;
  /** Whether the holder has as many as it may. Call it before `hold`, without an await in between. */
  readonly refuses: (holder: Holder) => boolean;
  /** Disposing it, once, gives it back. */
  readonly hold: (holder: Holder) => Disposable;
  /** How many the holder has. */
  readonly used: (holder: Holder) => number;
}

export const heldQuota = <Holder extends string = OrgId>({
  limit,
  onRefused,
}: HeldQuotaOptions<Holder>): HeldQuota<Holder> => {
  const holders = new Map<Holder, number>();
  const used = (holder: Holder): number => holders.get(holder) ?? 0;
  return {
    limit,
    used,
    refuses: (holder) => {
      const isFull = used(holder) >= limit;
      if (isFull) onRefused(holder);
      return isFull;
    },
    hold: (holder) => {
      holders.set(holder, used(holder) + 1);
      return {
        [Symbol.dispose]: () => {
          const left = used(holder) - 1;
          if (left > 0) holders.set(holder, left);
          else holders.delete(holder);
        },
      };
    },
  };
};
