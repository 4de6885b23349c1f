import { blobSubject, type BlobStream } from '@runledger/contracts/blobs';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aLog } from '@runledger/event-log/test/fixtures/test-log';
import { openBlobStores, type BlobStores } from '../src/blob-stores.ts';
import { blobStoreConformance, type BlobStorage, type StorageLimits } from './blob-store.conformance.ts';

const NANOS_IN_MS = 1_000_000;

const inJetStream = async (
  stream: BlobStream,
  of: keyof BlobStores,
  { maxBytes, lifetimeMs }: StorageLimits,
): Promise<BlobStorage> => {
  const test = await aLog();
  const { log } = test;
  if (maxBytes !== undefined) await log.jsm.streams.update(stream, { max_bytes: maxBytes });
  if (lifetimeMs !== undefined) {
    const max_age = lifetimeMs * NANOS_IN_MS;
    await log.jsm.streams.update(stream, { max_age, duplicate_window: max_age / 4 });
  }
  const present = async (org_id: string, sha256: string) => {
    const found = await log.jsm.streams.getMessage(stream, {
      last_by_subj: blobSubject(stream, org_id, sha256),
    });
    if (!found) throw new Error('there is no copy');
    return found;
  };
  const store = async (opening: Promise<EventLog>) => openBlobStores(await opening)[of];
  return {
    open: () => store(test.open()),
    openDisconnected: async () => {
      const lost = await test.open();
      await lost[Symbol.asyncDispose]();
      return store(Promise.resolve(lost));
    },
    copies: async () => (await log.jsm.streams.info(stream)).state.messages,
    storedAt: async (org_id, sha256) => (await present(org_id, sha256)).time,
    damage: async (org_id, sha256) => {
      await log.js.publish(blobSubject(stream, org_id, sha256), 'other bytes');
    },
    remove: async (org_id, sha256) => {
      await log.jsm.streams.purge(stream, { filter: blobSubject(stream, org_id, sha256) });
    },
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  };
};

blobStoreConformance('the stream BLOBS', (limits) => inJetStream('BLOBS', 'blobs', limits));
blobStoreConformance('the stream WORKFLOWS', (limits) => inJetStream('WORKFLOWS', 'workflows', limits));
