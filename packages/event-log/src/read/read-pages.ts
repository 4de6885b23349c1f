import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { readDirect, readDirectNext } from './direct-read.ts';
import { nextMessage } from './leader-read.ts';
import { fromStored } from './stored-message.ts';

const PAGE = { batch: 512, max_bytes: 4 * 1024 * 1024 };

interface PagesOptions {
  /** The broker's time, ISO 8601; from the beginning of the stream when it is left out. */
  readonly since?: string;
  /** The first sequence, instead of a time. */
  readonly from?: number;
  /** The last sequence. What is stored meanwhile is not read. */
  readonly upTo: number;
  /** Called after each page, before the next one is requested. */
  readonly pace?: (messages: number) => Promise<void>;
}

/**
 * All messages of a stream in their order, a page at a time, without a consumer: a reader needs no permission but to read. It asks
 * for neither subjects nor the end of the stream, so the broker reads just these messages. One page is read ahead.
 * @throws {LogUnavailable}
 */
export async function* readPages(
  log: EventLog,
  stream: 'RUNS' | 'FLEET' | 'DELIVERY_ATTEMPTS',
  { since, from = 1, upTo, pace = async () => undefined }: PagesOptions,
): AsyncGenerator<readonly StoredMessage[]> {
  const first = since === undefined ? from : await firstSince(log, stream, since);
  let next = first === undefined ? undefined : readPage(log, stream, first);
  while (next) {
    const page = await next;
    const last = page.at(-1)?.sequence;
    if (last === undefined) return;
    next = last < upTo ? pace(page.length).then(() => readPage(log, stream, last + 1)) : undefined;
    // A caller that stops does not wait for it.
    next?.catch(() => undefined);
    yield page.filter(({ sequence }) => sequence <= upTo);
  }
}

/** The messages from a sequence on, as many as a response has; none at the end of the stream. @throws {LogUnavailable} */
export const readPage = async (
  log: EventLog,
  stream: string,
  from: number,
  filter = '>',
): Promise<readonly StoredMessage[]> => {
  const about = filter === '>' ? PAGE : { ...PAGE, next_by_subj: filter };
  const query = { seq: from, ...about };
  const { messages } = await readDirect(log, stream, query, `reading ${stream} from ${from} on`);
  if (messages.length > 0) return messages.map(fromStored);
  // A replica may be behind. The leader knows.
  const next = await nextMessage(log, stream, from, filter);
  return next === null ? [] : [fromStored(next)];
};

const firstSince = async (log: EventLog, stream: string, since: string): Promise<number | undefined> => {
  // The driver types this request for direct reads only; the broker accepts it here as well.
  const query = { seq: 0, start_time: since };
  const found = await callBroker(`reading the first message of ${stream} since ${since}`, () =>
    log.jsm.streams.getMessage(stream, query),
  );
  return found?.seq;
};

interface ObjectChunk {
  readonly sequence: number;
  readonly data: Uint8Array;
}

interface ChunksToRead {
  readonly stream: string;
  readonly subject: string;
  /** From this sequence of the stream on. */
  readonly from: number;
  /** How many to read: the last chunk may have more. */
  readonly bytes: number;
}

/**
 * The bytes of an object of an object store: one stored chunk at a time, and one more read ahead. The driver's own `get` pushes the whole
 * object into memory when its reader is slow, and stalled for half a minute on a busy machine.
 * @throws {LogUnavailable}, and another error when a chunk is missing
 */
export async function* objectChunks(
  log: EventLog,
  { stream, subject, from, bytes }: ChunksToRead,
): AsyncGenerator<Uint8Array> {
  if (bytes === 0) return;
  const next = (sequence: number): Promise<ObjectChunk> => {
    const chunk = readChunk(log, stream, subject, sequence);
    // Nothing awaits this read when the reader stops.
    chunk.catch(() => undefined);
    return chunk;
  };
  let left = bytes;
  for (let ahead = next(from); left > 0;) {
    const { sequence, data } = await ahead;
    if (data.byteLength === 0) throw new Error(`A chunk of ${subject} is empty.`);
    left -= data.byteLength;
    if (left > 0) ahead = next(sequence + 1);
    yield data;
  }
}

/** The first chunk from this sequence on. @throws {LogUnavailable}, and another error when there is none */
export const readChunk = async (
  log: EventLog,
  stream: string,
  subject: string,
  from: number,
): Promise<ObjectChunk> => {
  // Any replica may answer. When it does not have the chunk yet, the leader does.
  const found =
    (await readDirectNext(log, stream, from, subject)) ?? (await nextMessage(log, stream, from, subject));
  if (!found) throw new Error(`A chunk of ${subject} from ${from} on is missing.`);
  return { sequence: found.seq, data: found.data };
};

const LISTED = { batch: 512, max_bytes: 1024 * 1024 };

interface ListedObject {
  readonly name: string;
  /** When it was stored last, by the broker's clock: milliseconds since 1970. */
  readonly storedMs: number;
}

/** The objects of an object store in the order in which they were stored. @throws {LogUnavailable} */
export async function* listObjects(log: EventLog, bucket: string): AsyncGenerator<readonly ListedObject[]> {
  const about = { ...LISTED, next_by_subj: `$O.${bucket}.M.>` };
  let query = { seq: 1, ...about };
  for (;;) {
    const { messages } = await readDirect(log, `OBJ_${bucket}`, query, `listing the objects of ${bucket}`);
    const last = messages.at(-1);
    if (!last) return;
    yield messages.map(({ subject, time }) => ({
      name: Buffer.from(subject.split('.').at(-1) ?? '', 'base64url').toString(),
      storedMs: time.getTime(),
    }));
    query = { seq: last.seq + 1, ...about };
  }
}
