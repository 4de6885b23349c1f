import type { BlobStores } from '@runledger/blob-store/blob-stores';
import type { BlobStream } from '@runledger/contracts/blobs';
import { bucketCreated } from '@runledger/event-log/streams/bucket-created';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { WorkflowVersions } from '../catalogue/store/workflow-versions.ts';
import { whileProjecting } from '../projection/while-projecting.ts';
import { sweepStore } from './sweep-store.ts';
import { ERASED_AFTER_MS, SWEEP_EVERY_MS } from './sweep-times.ts';
import {
  unreferencedByRuns,
  unreferencedWorkflows,
  type FindUnreferenced,
  type RunReferencesOptions,
} from './unreferenced.ts';

export interface BlobSweepOptions extends RunReferencesOptions {
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
