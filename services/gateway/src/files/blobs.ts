import type { BlobStore, IsFree, StoredBlob, StoredBlobs } from '@runledger/blob-store/blob-store';
import type { BlobRef, BlobStream } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import { ofCompleteViews, type FreshViews } from '../views/fresh-views.ts';
import { lacksOf } from '../views/projection-start.decide.ts';
import type { RunViews } from '../views/run-views.ts';

/**
 * Erases those of the blobs at once that nothing refers to. False when that is not known now: call it again later.
 * @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {BlobStoreFull}
 */
export type EraseBlobs = (org_id: OrgId, blobs: readonly BlobRef[]) => Promise<boolean>;

export const eraseBlobs =
  (store: BlobStore, unreferenced: FindUnreferenced, onErased: (blob: StoredBlob) => void): EraseBlobs =>
  async (org_id, blobs) => {
    const isFree: IsFree = async (copy) => {
      const free = await unreferenced([copy]);
      return free && free.length > 0;
    };
    for (const { sha256 } of blobs) {
      const erasure = await store.eraseIfFree(org_id, sha256, isFree);
      if (erasure.kind === 'unknown') return false;
      if (erasure.kind === 'erased') onErased(erasure.copy);
    }
    return true;
  };

/**
 * Those of the blobs that nothing refers to, for certain; undefined while that is unknown. @throws {LogUnavailable}
 * @throws {ViewsUnavailable}
 */
export type FindUnreferenced = (blobs: readonly StoredBlob[]) => Promise<readonly StoredBlob[] | undefined>;

const without = async (
  blobs: readonly StoredBlob[],
  referred: (org_id: OrgId, hashes: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<StoredBlob[]> => {
  const free: StoredBlob[] = [];
  for (const [org_id, own] of Map.groupBy(blobs, ({ org_id }) => org_id)) {
    const kept = await referred(
      org_id,
      own.map(({ sha256 }) => sha256),
    );
    free.push(...own.filter(({ sha256 }) => !kept.has(sha256)));
  }
  return free;
};

/** What no run refers to. While nothing is known of an organisation, its blobs are kept. */
const withoutRuns =
  (views: RunViews, fresh: FreshViews, stream: BlobStream) =>
  (judged: (derivedFrom: string) => readonly StoredBlob[]): Promise<readonly StoredBlob[] | undefined> =>
    ofCompleteViews(views, fresh, 'each', async (at) => {
      const blobs = judged(at.derived_from);
      const known = blobs.filter(({ org_id }) => !lacksOf(at, org_id));
      if (known.length === 0 && blobs.length > 0) return undefined;
      return without(known, (org_id, hashes) => views.referredBlobs(org_id, stream, hashes));
    });

/**
 * Inputs and lists of outputs that no run refers to. Views that were derived again lack the runs that the log no longer had, and
 * a copy of the views may bring them back. So blobs from before that time are not judged: they expire.
 */
export const unreferencedByRuns = (views: RunViews, fresh: FreshViews): FindUnreferenced => {
  const find = withoutRuns(views, fresh, 'BLOBS');
  return (blobs) => find((derivedFrom) => storedAfter(blobs, new Date(derivedFrom)));
};

/** Workflows that no version has, and that no run needs which has not ended. */
export const unreferencedWorkflows = (
  views: RunViews,
  fresh: FreshViews,
  /** The hashes of all versions of an organisation, with every acknowledged one. */
  hashesOf: (org_id: OrgId) => Promise<ReadonlySet<string>>,
  /** When the bucket of the catalogue was created. What is older belongs to a catalogue that was lost. */
  catalogueCreated: () => Promise<string>,
): FindUnreferenced => {
  const find = withoutRuns(views, fresh, 'WORKFLOWS');
  return async (blobs) => {
    const judged = storedAfter(blobs, new Date(await catalogueCreated()));
    const free = await without(judged, hashesOf);
    return free.length === 0 ? [] : find(() => free);
  };
};

/** The blobs that no request in progress can refer to. They come first, in the order in which they were stored. */
export const oldBlobs = ({ blobs, now }: StoredBlobs, erasedAfterMs: number): StoredBlob[] =>
  blobs.filter(({ storedAt }) => now.getTime() - storedAt.getTime() >= erasedAfterMs);

/** The blobs that were stored after a time. */
const storedAfter = (blobs: readonly StoredBlob[], time: Date): StoredBlob[] =>
  blobs.filter(({ storedAt }) => storedAt.getTime() > time.getTime());
