import type { StoredMsg } from '@nats-io/jetstream';
import {
  blobSubject,
  orgBlobs,
  type BlobStream,
  allBlobs,
  parseBlobSubject,
} from '@runledger/contracts/blobs';
import { orgId, newUuid, type OrgId } from '@runledger/contracts/ids';
import { MAX_BLOB_BYTES } from '@runledger/contracts/limits';
import { polledClock } from '@runledger/coordination/broker-clock';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readDirectLast, type DirectMessage } from '@runledger/event-log/read/direct-read';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { eraseSubjects, removeMessage } from '@runledger/event-log/streams/erase-messages';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { Type } from 'typebox';
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
    list: async (behind, limit) => ({
      blobs: await listCopies(log, stream, { behind, limit }),
      now: new Date(await time()),
    }),
    ...erasing(log, stream, present),
  };
};

/** An erasure in progress, under `blob_erasures.<org_id>.<stream>.<sha256>` of CATALOGUE: it finds room there when its own store is full. */
const Announcement = Type.Object({ org_id: Type.String(), sha256: Type.String() });

/**
 * Who erases at once announces it, asks who refers to the blob, erases the copy that was there before, by its sequence, and withdraws the
 * announcement. Who begins to refer to a blob looks for an announcement, then for the blob, after its reference is stored: so either its
 * reference was seen, or it finds the announcement or no blob, and stores a copy that this erasure does not take. This order matters.
 */
const erasing = (
  log: EventLog,
  stream: BlobStream,
  present: LRUCache<string, true>,
): Pick<BlobStore, 'confirm' | 'find' | 'eraseIfFree' | 'erase' | 'eraseAll'> => {
  const announcements = openBucket(log, 'CATALOGUE', Announcement);
  const keyOf = (org_id: string, sha256: string): string => `blob_erasures.${org_id}.${stream}.${sha256}`;

  const lastCopy = (org_id: string, sha256: string): Promise<StoredMsg | null> =>
    lastMessage(log, stream, blobSubject(stream, org_id, sha256));
  const erase = async ({ org_id, sha256, copy }: StoredBlob): Promise<void> => {
    await removeMessage(log, stream, copy);
    present.delete(blobSubject(stream, org_id, sha256));
  };
  /** Stores a copy that is newer than the present one, which may be erased meanwhile. */
  const storeAgain = async (org_id: string, sha256: string, data: Uint8Array): Promise<void> => {
    const subject = blobSubject(stream, org_id, sha256);
    let replaces: number;
    do replaces = (await lastCopy(org_id, sha256))?.seq ?? 0;
    while (!(await storeCopy(log, { stream, subject, data, replaces })));
    present.set(subject, true);
  };

  return {
    find: async (org_id, sha256) => {
      const copy = await lastCopy(org_id, sha256);
      return copy ? describedCopy(orgId(org_id), sha256, copy) : undefined;
    },
    erase,
    confirm: async (org_id, bytes) => {
      const sha256 = sha256Of(bytes);
      const announced = await announcements.get(keyOf(org_id, sha256));
      if (!announced && (await hasCopy(log, stream, blobSubject(stream, org_id, sha256)))) return;
      await storeAgain(org_id, sha256, bytes);
    },
    eraseIfFree: async (org_id, sha256, isFree) => {
      const key = keyOf(org_id, sha256);
      // Of a process that was killed, or that is paused and may go on at any moment.
      const earlier = await announcements.get(key);
      const found = await lastCopy(org_id, sha256);
      if (!found) {
        if (earlier) await announcements.eraseAt(key, earlier.revision);
        return { kind: 'nothing_to_erase' };
      }
      const copy = describedCopy(org_id, sha256, found);
      const seemsFree = await isFree(copy);
      if (seemsFree === undefined) return { kind: 'unknown' };
      if (!seemsFree && !earlier) return { kind: 'nothing_to_erase' };
      const announcement = { org_id, sha256 };
      const announced = earlier
        ? await announcements.update(key, announcement, earlier.revision)
        : await announcements.create(key, announcement);
      const free = announced === false ? undefined : await isFree(copy);
      if (announced === false || free === undefined) return { kind: 'unknown' };
      if (free) await erase(copy);
      // The earlier process may still erase the copy that it found.
      else if (earlier) await storeAgain(org_id, sha256, found.data);
      await announcements.eraseAt(key, announced);
      return free ? { kind: 'erased', copy } : { kind: 'nothing_to_erase' };
    },
    eraseAll: async (org_id) => {
      const erased = await eraseSubjects(log, stream, orgBlobs(stream, org_id));
      present.clear();
      return erased;
    },
  };
};

const describedCopy = (org_id: OrgId, sha256: string, { data, time, seq }: StoredMsg): StoredBlob => ({
  org_id,
  sha256,
  bytes: data.byteLength,
  storedAt: time,
  copy: seq,
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

const storedBlob = (
  stream: BlobStream,
  { subject, headers, sequence, storedAt }: DeliveredMessage,
): StoredBlob => ({
  ...parseBlobSubject(stream, subject),
  bytes: Number(headers?.get(SIZE) ?? 0),
  storedAt,
  copy: sequence,
});
