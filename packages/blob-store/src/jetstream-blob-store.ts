import type { StoredMsg } from '@nats-io/jetstream';
import {
  blobSubject,
  orgBlobs,
  type BlobStream,
  allBlobs,
  parseBlobSubject,
} from '@runledger/contracts/blobs';
import { orgId, newUuid } from '@runledger/contracts/ids';
import { MAX_BLOB_BYTES } from '@runledger/contracts/limits';
import { polledClock } from '@runledger/coordination/broker-clock';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readDirectLast, type DirectMessage } from '@runledger/event-log/read/direct-read';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { eraseSubjects, removeMessage } from '@runledger/event-log/streams/erase-messages';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { publishUntilAcknowledged, LogFull } from '@runledger/event-log/append/publish';
import { readToEnd } from '@runledger/event-log/follow/read-to-end';
import type { DeliveredMessage } from '@runledger/event-log/read/stored-message';
import { sha256Of, BlobDamaged, type BlobStore, BlobStoreFull, type StoredBlob } from './blob-store.ts';

const MAX_PRESENT = 10_000;
/** Of the time in which a copy is young. */
const PRESENT_FOR_PART = 1 / 30;
const MS_IN_NANOS = 1_000_000;

interface JetStreamBlobs {
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

interface Copy {
  readonly stream: BlobStream;
  readonly subject: string;
  readonly data: Uint8Array;
  /** The sequence of the copy that it replaces; 0 for none. */
  readonly replaces: number;
}

/**
 * Stores a copy of a blob. False when another copy was stored first; it may be that of an earlier try, which does no harm.
 * @throws {BlobStoreFull} @throws {LogUnavailable}
 */
const storeCopy = async (log: EventLog, copy: Copy): Promise<boolean> => {
  const { stream, subject, data, replaces } = copy;
  const fence = { filter: subject, sequence: replaces };
  try {
    const stored = await publishUntilAcknowledged(log, { stream, subject, data, id: newUuid(), fence });
    return stored.kind !== 'conflict';
  } catch (error) {
    if (!(error instanceof LogFull)) throw error;
    throw new BlobStoreFull(`The store ${stream} is full, and ${WHAT_TO_DO[stream]}.`, { cause: error });
  }
};

const WHAT_TO_DO: Readonly<Record<BlobStream, string>> = {
  WORKFLOWS: 'its workflows stay: raise workflowsMaxBytes of the log settings, and provision again',
  BLOBS:
    'accepts blobs again when old ones expire: wait, or raise blobsMaxBytes of the log settings and provision again',
};

const WITHIN_MS = 15_000;
/** With headers only, the broker gives the size of the payload here. */
const SIZE = 'Nats-Msg-Size';

interface Part {
  /** The sequence before the first one. */
  readonly behind: number;
  readonly limit: number;
}

/** The next copies in the order of the stream, read without their bytes. @throws {LogUnavailable} */
const listCopies = async (
  log: EventLog,
  stream: BlobStream,
  { behind, limit }: Part,
): Promise<StoredBlob[]> => {
  const found: StoredBlob[] = [];
  const options = { stream, subjects: [allBlobs(stream)], headersOnly: true, behind, withinMs: WITHIN_MS };
  for await (const message of readToEnd(log, options))
    if (found.push(storedBlob(stream, message)) >= limit) break;
  return found;
};

/** Asks the leader, without the bytes. @throws {LogUnavailable} */
const hasCopy = async (log: EventLog, stream: BlobStream, subject: string): Promise<boolean> => {
  const { state } = await callBroker(`looking for a blob in ${stream}`, () =>
    log.jsm.streams.info(stream, { subjects_filter: subject }),
  );
  return (state.subjects?.[subject] ?? 0) > 0;
};

/** Erases one copy. A sequence is never used again, so a later copy of the blob stays. @throws {LogUnavailable} */
const eraseCopy = (log: EventLog, stream: BlobStream, sequence: number): Promise<void> =>
  removeMessage(log, stream, sequence);

const storedBlob = (
  stream: BlobStream,
  { subject, headers, sequence, storedAt }: DeliveredMessage,
): StoredBlob => ({
  ...parseBlobSubject(stream, subject),
  bytes: Number(headers?.get(SIZE) ?? 0),
  storedAt,
  copy: sequence,
});
