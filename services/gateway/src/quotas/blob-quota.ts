import { sha256Of } from '@runledger/blob-store/store/blob-hash';
import { BlobStoreFull, type BlobStore } from '@runledger/blob-store/store/blob-store';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import type { RunViews } from '../projection/run-views.ts';
import { UNREFERENCED_FOR_MS } from '../blobs/sweep-times.ts';
import { openQuotaBound, type QuotaBound, type QuotaBoundOptions } from './quota-bound.ts';
import { recentBlobs, type RecentBlobs } from './recent-blobs.ts';

/** Limits the bytes of inputs and lists of outputs in BLOBS. Equal bytes of an organisation count once, as they are stored once. */
export interface BlobQuota extends Pick<QuotaBound, 'limit' | 'used'> {
  /**
   * Stores bytes, unless the organisation would then exceed its quota.
   * @throws {BlobStoreFull} @throws {LogUnavailable} @throws {ViewsUnavailable}
   */
  put(org_id: OrgId, bytes: Uint8Array): Promise<BlobRef | 'over_quota'>;
}

export interface BlobQuotaOptions extends Pick<
  QuotaBoundOptions,
  'limit' | 'becomeFresh' | 'onRefused' | 'clock'
> {
  readonly blobs: Pick<BlobStore, 'put'>;
  readonly views: Pick<RunViews, 'sumBlobBytes' | 'referredBlobs'>;
}

export const openBlobQuota = (options: BlobQuotaOptions): BlobQuota & Disposable => {
  const { limit, blobs, views, becomeFresh, onRefused, clock } = options;
  const recent = recentBlobs({ views, keptForMs: UNREFERENCED_FOR_MS, clock });
  const bound = openQuotaBound({
    limit,
    count: async (org_id) => {
      const unreferenced = await recent.unreferencedBytes(org_id);
      return unreferenced + (await views.sumBlobBytes(org_id));
    },
    becomeFresh: async () => {
      await becomeFresh();
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
    put: putWithin({ bound, blobs, views, recent, onRefused }),
    [Symbol.dispose]: () => bound[Symbol.dispose](),
  };
};

interface Bounded extends Pick<BlobQuotaOptions, 'blobs' | 'views' | 'onRefused'> {
  readonly bound: QuotaBound;
  readonly recent: RecentBlobs;
}

const putWithin =
  ({ bound, blobs, views, recent, onRefused }: Bounded): BlobQuota['put'] =>
  async (org_id, bytes) => {
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
  };
