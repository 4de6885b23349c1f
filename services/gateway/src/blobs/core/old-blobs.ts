import type { StoredBlob, StoredBlobs } from '@runledger/blob-store/store/blob-store';
import type { OrgId } from '@runledger/contracts/ids';

/** The blobs that no request in progress can refer to. They come first, in the order in which they were stored. */
export const oldBlobs = ({ blobs, now }: StoredBlobs, erasedAfterMs: number): StoredBlob[] =>
  blobs.filter(({ storedAt }) => now.getTime() - storedAt.getTime() >= erasedAfterMs);

/** The blobs that were stored after a time. */
export const storedAfter = (blobs: readonly StoredBlob[], time: Date): StoredBlob[] =>
  blobs.filter(({ storedAt }) => storedAt.getTime() > time.getTime());

export const byOrganisation = (blobs: readonly StoredBlob[]): Map<OrgId, StoredBlob[]> =>
  Map.groupBy(blobs, ({ org_id }) => org_id);
