import type { StoredMsg } from '@nats-io/jetstream';
import { blobSubject, orgBlobs, type BlobStream } from '@runledger/contracts/blobs';
import { orgId } from '@runledger/contracts/ids';
import { MAX_BLOB_BYTES } from '@runledger/contracts/limits';
import { polledClock } from '@runledger/coordination/polled-clock';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readDirectLast, type DirectMessage } from '@runledger/event-log/read/direct-read';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { sha256Of } from '../store/blob-hash.ts';
import { BlobDamaged, type BlobStore } from '../store/blob-store.ts';
import { eraseCopy, hasCopy, listCopies } from './stored-copies.ts';
import { storeCopy } from './store-copy.ts';

const MAX_PRESENT = 10_000;
/** Of the time in which a copy is young. */
const PRESENT_FOR_PART = 1 / 30;
const MS_IN_NANOS = 1_000_000;

export interface JetStreamBlobs {
  readonly stream: BlobStream;
  /** An older copy is stored again when it is referred to once more. */
  readonly youngForMs: number;
}

/**
 * Each blob is one message of a stream, on a subject of its organisation and hash. The broker decides between equal writers by
 * the fence of the message. A copy that is no longer young, or has used half of the stream's lifetime, is replaced by a new one.
 */
export const jetStreamBlobStore = (log: EventLog, { stream, youngForMs }: JetStreamBlobs): BlobStore => {
  const time = polledClock(log, stream);
  /** The subjects of blobs that were stored or found a moment ago. They need no request. */
  const present = new LRUCache<string, true>({
    ...atMost(MAX_PRESENT),
    ttl: Math.ceil(youngForMs * PRESENT_FOR_PART),
  });
  // A broker that was away may have been restored from an older copy.
  log.onReconnect(() => present.clear());

  const leaderCopy = (subject: string): Promise<StoredMsg | null> => lastMessage(log, stream, subject);
  /** Any replica may have it: the bytes under a hash are always the same. */
  const anyCopy = (subject: string): Promise<DirectMessage | null> => readDirectLast(log, stream, subject);
  const isYoung = async (copy: StoredMsg): Promise<boolean> => {
    const read = () => log.jsm.streams.info(stream);
    const { config } = await callBroker(`reading the lifetime of blobs in ${stream}`, read);
    const halfMs = config.max_age === 0 ? Infinity : config.max_age / MS_IN_NANOS / 2;
    return (await time()) - copy.time.getTime() < Math.min(youngForMs, halfMs);
  };

  return {
    put: async (org_id, bytes) => {
      checkSize(bytes);
      const sha256 = sha256Of(bytes);
      const subject = blobSubject(stream, org_id, sha256);
      if (!present.has(subject)) {
        let copy: StoredMsg | null = null;
        // The first try costs one request: nearly every blob is new.
        while (!(await storeCopy(log, { stream, subject, data: bytes, replaces: copy?.seq ?? 0 }))) {
          copy = await leaderCopy(subject);
          if (copy && sha256Of(copy.data) === sha256 && (await isYoung(copy))) break;
        }
        present.set(subject, true);
      }
      return { sha256, bytes: bytes.byteLength };
    },
    get: async (org_id, sha256) => {
      const subject = blobSubject(stream, org_id, sha256);
      const near = await anyCopy(subject);
      if (near && sha256Of(near.data) === sha256) return near.data;
      // A replica may be behind, or damaged.
      const copy = await leaderCopy(subject);
      return copy ? intact(copy, sha256) : undefined;
    },
    renew: async (org_id, sha256) => {
      const subject = blobSubject(stream, org_id, sha256);
      while (!present.has(subject)) {
        const copy = await leaderCopy(subject);
        if (!copy) return false;
        const data = intact(copy, sha256);
        if ((await isYoung(copy)) || (await storeCopy(log, { stream, subject, data, replaces: copy.seq }))) {
          present.set(subject, true);
        }
      }
      return true;
    },
    ...presence(log, stream, present),
    list: async (behind, limit) => ({
      blobs: await listCopies(log, stream, { behind, limit }),
      now: new Date(await time()),
    }),
    ...erasing(log, stream, present),
  };
};

const erasing = (
  log: EventLog,
  stream: BlobStream,
  present: LRUCache<string, true>,
): Pick<BlobStore, 'erase' | 'eraseAll'> => ({
  erase: async ({ org_id, sha256, copy }) => {
    await eraseCopy(log, stream, copy);
    present.delete(blobSubject(stream, org_id, sha256));
  },
  eraseAll: async (org_id) => {
    const erased = await eraseSubjects(log, stream, orgBlobs(stream, org_id));
    present.clear();
    return erased;
  },
});

/** Whether blobs are there, by the leader. */
const presence = (
  log: EventLog,
  stream: BlobStream,
  present: LRUCache<string, true>,
): Pick<BlobStore, 'confirm' | 'find'> => ({
  confirm: async (org_id, bytes) => {
    const subject = blobSubject(stream, org_id, sha256Of(bytes));
    if (await hasCopy(log, stream, subject)) return;
    // Another writer may be faster.
    await storeCopy(log, { stream, subject, data: bytes, replaces: 0 });
    present.set(subject, true);
  },
  find: async (org_id, sha256) => {
    const copy = await lastMessage(log, stream, blobSubject(stream, org_id, sha256));
    return copy
      ? { org_id: orgId(org_id), sha256, bytes: copy.data.byteLength, storedAt: copy.time, copy: copy.seq }
      : undefined;
  },
});

/** @throws {BlobDamaged} */
const intact = ({ data, subject }: StoredMsg, sha256: string): Uint8Array => {
  if (sha256Of(data) === sha256) return data;
  throw new BlobDamaged(
    `The ${data.byteLength} bytes under ${subject} do not have this hash: the storage of the broker is damaged, or somebody ` +
      'with the rights of the gateway wrote them. Storing the right bytes again replaces them.',
  );
};

const checkSize = ({ byteLength }: Uint8Array): void => {
  if (byteLength >= 1 && byteLength <= MAX_BLOB_BYTES) return;
  throw new RangeError(`A blob has 1 to ${MAX_BLOB_BYTES} bytes, and this one has ${byteLength}.`);
};
