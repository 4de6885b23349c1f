import type { Bucket, Entry } from '@runledger/event-log/streams/bucket';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import type { BlobStream } from '@runledger/contracts/blobs';
import { bucketCreated } from '@runledger/event-log/streams/bucket-created';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { BlobStore, StoredBlob } from '@runledger/blob-store/store/blob-store';
import type { OutputStore } from '../files/output-store.ts';
import { whileProjecting } from '../while-projecting.ts';
import {
  fileKey,
  FILES,
  UPLOADS,
  UPLOAD_KEPT_MS,
  removeParts,
  type FileRecords,
  type Part,
  type StoredFile,
  type Upload,
} from '../files/file-records.ts';
import type { WorkflowVersions } from '../records/catalogue/workflow-versions.ts';
import { ERASED_AFTER_MS, SWEEP_EVERY_MS } from '../records/quotas/sweep-times.ts';
import {
  unreferencedByRuns,
  unreferencedWorkflows,
  oldBlobs,
  type FindUnreferenced,
  type RunReferencesOptions,
} from '../files/blobs.ts';

interface SweepFilesOptions {
  readonly records: FileRecords;
  readonly store: Pick<OutputStore, 'remove'>;
  readonly fileKeptMs: number;
  readonly brokerTime: () => Promise<Date>;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const FILES_SWEPT_EVERY_MS = 60_000;

/** Erases the files and uploads that have expired, until it is disposed of. */
export const openFileSweep = (options: SweepFilesOptions): AsyncDisposable =>
  whileProjecting({
    failure: 'expired files could not be erased',
    everyMs: FILES_SWEPT_EVERY_MS,
    isProjecting: options.isProjecting,
    logger: options.logger,
    work: (stop) => sweepFiles(options, stop),
  });

/** A record goes before its parts: after a kill in between, the parts take room until the store expires them. */
export const sweepFiles = async (
  { records, store, fileKeptMs, brokerTime, logger }: Omit<SweepFilesOptions, 'isProjecting'>,
  stop: AbortSignal,
): Promise<void> => {
  const erase = async <Stored extends StoredFile | Upload>(
    bucket: Bucket<Stored>,
    { key, value, revision }: Entry<Stored>,
    parts: readonly Pick<Part, 'key'>[],
  ): Promise<void> => {
    if (!(await bucket.eraseAt(key, revision))) return;
    await removeParts(store, parts);
    const { org_id, id, bytes } = value;
    logger.info({ org_id, file: id, bytes }, 'a file that expired was erased');
  };
  for await (const entry of expired(records.files, FILES, fileKeptMs, brokerTime, stop))
    await erase(records.files, entry, entry.value.parts);
  for await (const entry of expired(records.uploads, UPLOADS, UPLOAD_KEPT_MS, brokerTime, stop))
    await erase(records.uploads, entry, await ownParts(records, entry.value));
};

/** In the order of their last changes, so that the first one which is not expired is the last one to look at. */
async function* expired<Stored>(
  bucket: Pick<Bucket<Stored>, 'next'>,
  kind: string,
  keptMs: number,
  brokerTime: () => Promise<Date>,
  stop: AbortSignal,
): AsyncGenerator<Entry<Stored>> {
  for (let behind = 0; !stop.aborted;) {
    const entry = await bucket.next(kind, behind);
    if (!entry || (await brokerTime()).getTime() < entry.changedAt.getTime() + keptMs) return;
    yield entry;
    behind = entry.revision;
  }
}

/** Without those that its file has. */
const ownParts = async (
  { files }: FileRecords,
  { org_id, parts, coming, file_id }: Upload,
): Promise<Pick<Part, 'key'>[]> => {
  const file = file_id === null ? undefined : await files.get(fileKey({ org_id, id: file_id }));
  const taken = new Set(file?.value.parts.map(({ key }) => key));
  return [...parts, ...(coming ? [coming] : [])].filter(({ key }) => !taken.has(key));
};

interface BlobSweepOptions extends RunReferencesOptions {
  readonly log: EventLog;
  readonly stores: BlobStores;
  readonly versions: Pick<WorkflowVersions, 'hashes'>;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
  readonly onErased: (stream: BlobStream, bytes: number) => void;
}

/** Erases the blobs that nothing refers to: of deleted runs and versions, and of requests that were refused or interrupted. */
export const openBlobSweep = (options: BlobSweepOptions): AsyncDisposable => {
  const { log, stores, versions, isProjecting, logger, onErased } = options;
  const sweep = (stream: BlobStream, store: BlobStores[keyof BlobStores], unreferenced: FindUnreferenced) =>
    sweepStore({
      store,
      unreferenced,
      erasedAfterMs: ERASED_AFTER_MS,
      onErased: ({ org_id, sha256, bytes }) => {
        logger.info({ stream, org_id, sha256, bytes }, 'a blob that nothing refers to was erased');
        onErased(stream, bytes);
      },
    });
  const sweeps = [
    sweep('BLOBS', stores.blobs, unreferencedByRuns(options)),
    sweep(
      'WORKFLOWS',
      stores.workflows,
      unreferencedWorkflows({
        ...options,
        hashesOf: (org_id) => versions.hashes(org_id),
        catalogueCreated: () => bucketCreated(log, 'CATALOGUE'),
      }),
    ),
  ];
  return whileProjecting({
    failure: 'blobs that nothing refers to could not be erased',
    everyMs: SWEEP_EVERY_MS,
    isProjecting,
    logger,
    work: async (stop) => {
      for (const round of sweeps) await round(stop);
    },
  });
};

interface SweepStoreOptions {
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
