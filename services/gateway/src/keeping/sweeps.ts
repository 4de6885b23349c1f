import { bucketCreated, everyEntry, type Bucket, type Entry } from '@runledger/event-log/streams/bucket';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import type { BlobStream } from '@runledger/contracts/blobs';
import type { BlobStore, StoredBlob } from '@runledger/blob-store/blob-store';
import type { OutputStore } from '../files/output-store.ts';
import type { Kit } from '../kit.ts';
import type { FreshViews } from '../views/fresh-views.ts';
import type { Work } from './keeper.ts';
import {
  fileKey,
  FILES,
  UPLOADS,
  UPLOAD_KEPT_MS,
  removeParts,
  type FileRecords,
  type StoredFile,
  type Upload,
  type PartKey,
} from '../files/file-records.ts';
import type { WorkflowVersions } from '../records/catalogue/workflow-versions.ts';
import { ERASED_AFTER_MS } from '../records/quotas/sweep-times.ts';
import {
  unreferencedByRuns,
  unreferencedWorkflows,
  oldBlobs,
  type FindUnreferenced,
} from '../files/blobs.ts';

/** What the sweep of files that clients uploaded looks at. */
export interface ExpiringFiles {
  readonly records: FileRecords;
  readonly store: OutputStore;
  readonly fileRetentionMs: number;
  readonly brokerTime: () => Promise<Date>;
}

/** Erases the files and uploads that have expired. A record goes before its parts: after a kill in between, the parts take room until the store expires them. */
export const sweepFiles = async (
  { logger }: Kit,
  { records, store, fileRetentionMs, brokerTime }: ExpiringFiles,
  stop: AbortSignal,
): Promise<void> => {
  const erase = async <Stored extends StoredFile | Upload>(
    bucket: Bucket<Stored>,
    { key, value, revision }: Entry<Stored>,
    parts: readonly PartKey[],
  ): Promise<void> => {
    if (!(await bucket.eraseAt(key, revision))) return;
    await removeParts(store, parts);
    const { org_id, id, bytes } = value;
    logger.info({ org_id, file: id, bytes }, 'a file that expired was erased');
  };
  for await (const entry of expired(records.files, FILES, fileRetentionMs, brokerTime, stop))
    await erase(records.files, entry, entry.value.parts);
  for await (const entry of expired(records.uploads, UPLOADS, UPLOAD_KEPT_MS, brokerTime, stop))
    await erase(records.uploads, entry, await ownParts(records, entry.value));
};

/** In the order of their last changes, so that the first one which is not expired is the last one to look at. */
async function* expired<Stored>(
  bucket: Bucket<Stored>,
  kind: string,
  retentionMs: number,
  brokerTime: () => Promise<Date>,
  stop: AbortSignal,
): AsyncGenerator<Entry<Stored>> {
  for await (const entry of everyEntry((behind) => bucket.next(kind, behind))) {
    if (stop.aborted || (await brokerTime()).getTime() < entry.changedAt.getTime() + retentionMs) return;
    yield entry;
  }
}

/** Without those that its file has. */
const ownParts = async (
  { files }: FileRecords,
  { org_id, parts, coming, file_id }: Upload,
): Promise<PartKey[]> => {
  const file = file_id === null ? undefined : await files.get(fileKey({ org_id, id: file_id }));
  const taken = new Set(file?.value.parts.map(({ key }) => key));
  return [...parts, ...(coming ? [coming] : [])].filter(({ key }) => !taken.has(key));
};

/** Erases the blobs that nothing refers to: of deleted runs and versions, and of requests that were refused or interrupted. */
export const sweepBlobs = (kit: Kit, fresh: FreshViews, versions: WorkflowVersions): Work => {
  const { log, views, stores, logger, metrics } = kit;
  const sweep = (stream: BlobStream, store: BlobStores[keyof BlobStores], unreferenced: FindUnreferenced) =>
    sweepStore(store, unreferenced, ERASED_AFTER_MS, ({ org_id, sha256, bytes }) => {
      logger.info({ stream, org_id, sha256, bytes }, 'a blob that nothing refers to was erased');
      metrics.erased(stream, bytes);
    });
  const sweeps = [
    sweep('BLOBS', stores.blobs, unreferencedByRuns(views, fresh)),
    sweep(
      'WORKFLOWS',
      stores.workflows,
      unreferencedWorkflows(
        views,
        fresh,
        (org_id) => versions.hashes(org_id),
        () => bucketCreated(log, 'CATALOGUE'),
      ),
    ),
  ];
  return async (stop) => {
    for (const round of sweeps) await round(stop);
  };
};

const AT_ONCE = 500;
const IN_A_ROUND = 50_000;

/**
 * A round looks at the next blobs, from where the last one has ended, and erases those that nothing refers to. After a kill
 * the next process begins anew: what is erased twice is gone once.
 */
export const sweepStore = (
  store: BlobStore,
  unreferenced: FindUnreferenced,
  /** A younger blob may be referred to by a request in progress. */
  erasedAfterMs: number,
  onErased: (blob: StoredBlob) => void,
): Work => {
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
