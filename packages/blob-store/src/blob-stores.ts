import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { BlobStore } from './blob-store.ts';
import { jetStreamBlobStore } from './jetstream-blob-store.ts';

export interface BlobStores {
  /** The workflows of workflow versions. They never expire. */
  readonly workflows: BlobStore;
  /** Inputs and lists of outputs. They expire. */
  readonly blobs: BlobStore;
}

/** How long a copy is young. Long after the longest request that refers to it. */
const YOUNG_FOR_MS = 30 * 60_000;

/** Where blobs are. Another kind of store is a folder with an adapter of `BlobStore`, and its lines here. */
export const openBlobStores = (log: EventLog): BlobStores => ({
  workflows: jetStreamBlobStore(log, { stream: 'WORKFLOWS', youngForMs: YOUNG_FOR_MS }),
  blobs: jetStreamBlobStore(log, { stream: 'BLOBS', youngForMs: YOUNG_FOR_MS }),
});
