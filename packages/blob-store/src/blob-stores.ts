import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { BlobStore } from './store/blob-store.ts';
import { jetStreamBlobStore } from './jetstream/jetstream-blob-store.ts';

export interface BlobStores {
  /** The workflows of workflow versions. They never expire. */
  readonly workflows: BlobStore;
  /** Inputs and lists of outputs. They expire. */
  readonly blobs: BlobStore;
}

/** Where blobs are. Another kind of store is a folder with an adapter of `BlobStore`, and its lines here. */
export const openBlobStores = (log: EventLog): BlobStores => ({
  workflows: jetStreamBlobStore(log, 'WORKFLOWS'),
  blobs: jetStreamBlobStore(log, 'BLOBS'),
});
