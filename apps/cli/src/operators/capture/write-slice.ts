import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress } from 'node:zlib';
import { CommandError } from '../../output/command-error.ts';
import { plain } from '../../output/plain-text.ts';

export type SliceTarget =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'stream'; readonly stream: NodeJS.WritableStream };

/** Readable by its owner: it says who runs what. */
const MODE = 0o600;

/** Writes the text compressed, a file whole or not at all, and returns the number of compressed bytes. @throws {CommandError} */
export const writeSlice = async (
  target: SliceTarget,
  text: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<number> => {
  let bytes = 0;
  const counted = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  const write = (to: NodeJS.WritableStream, options: { readonly end: boolean }): Promise<void> =>
    pipeline(Readable.from(text), createZstdCompress(), counted, to, { signal, ...options });
  if (target.kind === 'stream') {
    await write(target.stream, { end: false });
    return bytes;
  }
  const { path } = target;
  const partial = `${path}.partial`;
  try {
    await write(createWriteStream(partial, { mode: MODE, flush: true }), { end: true });
    await rename(partial, path);
    return bytes;
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined);
    if (error instanceof Error && 'syscall' in error)
      throw new CommandError(`The slice cannot be written to ${plain(path)}: ${error.message}.`);
    throw error;
  }
};
