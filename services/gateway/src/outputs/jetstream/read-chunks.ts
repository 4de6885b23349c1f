import type { ObjectInfo } from '@nats-io/obj';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readDirectNext } from '@runledger/event-log/messages/direct-read';
import { lastMessage, nextMessage } from '@runledger/event-log/messages/leader-read';
import type { ByteSpan } from '../core/byte-range.ts';
import { OutputStoreUnavailable } from '../store/output-store.ts';

interface Chunk {
  readonly sequence: number;
  readonly data: Uint8Array;
}

/**
 * The bytes of an object: one stored chunk at a time, and one more read ahead. The driver's own `get` pushes the whole
 * object into memory when its reader is slow.
 */
export async function* readChunks(
  log: EventLog,
  bucket: string,
  info: ObjectInfo,
  { first, last }: ByteSpan,
): AsyncGenerator<Uint8Array> {
  const stream = `OBJ_${bucket}`;
  const subject = `$O.${bucket}.C.${info.nuid}`;
  const chunkBytes = info.options?.max_chunk_size ?? info.size;
  const skipped = Math.floor(first / chunkBytes);
  const next = (after: number): Promise<Chunk> => readChunk(log, stream, subject, after + 1);

  const begin = skipped === 0 ? undefined : await seek(log, stream, subject, info, skipped);
  let offset = begin === undefined ? 0 : skipped * chunkBytes;
  let ahead = next((begin ?? 1) - 1);
  // Nothing awaits this read when the reader stops.
  ahead.catch(() => undefined);
  while (offset <= last) {
    const chunk = await ahead;
    const from = offset;
    offset += chunk.data.byteLength;
    if (chunk.data.byteLength === 0) throw new OutputStoreUnavailable(`A chunk of ${subject} is empty.`);
    if (offset <= last) {
      ahead = next(chunk.sequence);
      ahead.catch(() => undefined);
    }
    if (offset > first) yield chunk.data.subarray(Math.max(first - from, 0), last + 1 - from);
  }
}

/**
 * The sequence of a chunk by its number, when the chunks have consecutive sequences; undefined when another file was
 * stored at the same time, and they have to be read one by one.
 */
const seek = async (
  log: EventLog,
  stream: string,
  subject: string,
  { chunks }: ObjectInfo,
  number: number,
): Promise<number | undefined> => {
  const [head, tail] = await Promise.all([
    readChunk(log, stream, subject, 1),
    orUnavailable(() => lastMessage(log, stream, subject)),
  ]);
  return tail && tail.seq - head.sequence === chunks - 1 ? head.sequence + number : undefined;
};

const readChunk = async (log: EventLog, stream: string, subject: string, from: number): Promise<Chunk> => {
  // Any replica may answer. When it does not have the chunk yet, the leader does.
  const found = await orUnavailable(
    async () => (await readDirectNext(log, stream, from, subject)) ?? nextMessage(log, stream, from, subject),
  );
  if (!found) throw new OutputStoreUnavailable(`A chunk of ${subject} after ${from - 1} is missing.`);
  return { sequence: found.seq, data: found.data };
};

const orUnavailable = async <Answer>(request: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await request();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OutputStoreUnavailable(`reading an output file: the broker did not answer (${why})`, {
      cause: error,
    });
  }
};
