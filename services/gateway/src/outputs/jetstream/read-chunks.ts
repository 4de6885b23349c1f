import type { ObjectInfo } from '@nats-io/obj';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastMessage } from '@runledger/event-log/messages/leader-read';
import { objectChunks, readChunk } from '@runledger/event-log/read/object-chunks';
import type { ByteSpan } from '../core/byte-range.ts';
import { OutputStoreUnavailable } from '../store/output-store.ts';

/** The bytes of an object, from the first to the last one. */
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
  try {
    const begin = skipped === 0 ? undefined : await seek(log, stream, subject, info, skipped);
    let offset = begin === undefined ? 0 : skipped * chunkBytes;
    for await (const data of objectChunks(log, {
      stream,
      subject,
      from: begin ?? 1,
      bytes: last + 1 - offset,
    })) {
      const from = offset;
      offset += data.byteLength;
      if (offset > first) yield data.subarray(Math.max(first - from, 0), last + 1 - from);
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OutputStoreUnavailable(`reading an output file: ${why}`, { cause: error });
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
    lastMessage(log, stream, subject),
  ]);
  return tail && tail.seq - head.sequence === chunks - 1 ? head.sequence + number : undefined;
};
