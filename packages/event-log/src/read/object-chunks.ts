import type { EventLog } from '../connect/event-log.ts';
import { readDirectNext } from '../messages/direct-read.ts';
import { nextMessage } from '../messages/leader-read.ts';

export interface ObjectChunk {
  readonly sequence: number;
  readonly data: Uint8Array;
}

export interface ChunksToRead {
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
