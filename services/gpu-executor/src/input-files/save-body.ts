import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';

/** The file has more bytes than the run may still fetch. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

export interface SavedBody {
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes the body of a response to a file, as fast as the disk takes it. @throws {TooLarge} and errors of the connection and the disk */
export const saveBody = async (
  incoming: IncomingMessage,
  path: string,
  maxBytes: number,
): Promise<SavedBody> => {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) throw new TooLarge();
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    incoming,
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        bytes += piece.byteLength;
        if (bytes > maxBytes) throw new TooLarge();
        hash.update(piece);
        yield piece;
      }
    },
    createWriteStream(path, { mode: 0o600 }),
  );
  return { bytes, sha256: hash.digest('hex') };
};
