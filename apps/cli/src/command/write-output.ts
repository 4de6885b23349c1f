import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandError, plain } from './command-error.ts';
import type { Screen } from './screen.ts';

/** Where a result goes that is not for a screen. */
export type OutputTarget =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'stream'; readonly stream: NodeJS.WritableStream };

/** The file of `--output`, or standard output when it is no terminal. `what`: the result, at the beginning of a sentence. @throws {CommandError} */
export const outputTarget = (
  output: string | undefined,
  {
    cwd,
    screen,
    stdout,
    what,
  }: {
    readonly cwd: string;
    readonly screen: Screen;
    readonly stdout: NodeJS.WritableStream;
    readonly what: string;
  },
): OutputTarget => {
  if (output !== undefined) return { kind: 'file', path: resolve(cwd, output) };
  if (!screen.isTerminal) return { kind: 'stream', stream: stdout };
  throw new CommandError(`${what}. Name a file with --output, or redirect the output to one.`);
};

/** Readable by its owner: it says who runs what. */
const MODE = 0o600;

type Bytes = Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>;

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** What compresses it. */
  readonly through?: NodeJS.ReadWriteStream;
}

/** Writes all of it, a file whole or not at all, and returns the number of bytes. @throws {CommandError} */
export const writeOutput = async (
  target: OutputTarget,
  written: Bytes,
  { signal, through = new PassThrough() }: WriteOptions = {},
): Promise<number> => {
  let bytes = 0;
  const counted = async function* (chunks: Bytes): AsyncGenerator<Uint8Array | string> {
    for await (const chunk of chunks) {
      bytes += Buffer.byteLength(chunk);
      yield chunk;
    }
  };
  const write = (to: NodeJS.WritableStream, options: { readonly end: boolean }): Promise<void> =>
    pipeline(Readable.from(written), through, counted, to, { ...(signal && { signal }), ...options });
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
      throw new CommandError(`${plain(path)} cannot be written: ${error.message}.`);
    throw error;
  }
};
