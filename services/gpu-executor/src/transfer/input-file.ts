import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { numberedFileName, safeFileName } from '@runledger/contracts/file-name';

/** A file in the folder for files on their way, which has no name yet. */
export type FetchedFile =
  | {
      readonly kind: 'fetched';
      readonly bytes: number;
      /** As who sent it names it, and its type. */
      readonly filename: string;
      readonly content_type: string;
    }
  | { readonly kind: 'refused'; readonly error: AttemptError }
  /** The run was cancelled or requeued meanwhile, or the executor stops. */
  | { readonly kind: 'stopped' };

/** `why` is a sentence, for people. */
export const notFetched = (why: string, retryable: boolean): FetchedFile => ({
  kind: 'refused',
  error: errorOf('input_unavailable', why, { retryable }),
});

export interface FileToFetch {
  /** The name of the input, for messages. */
  readonly input: string;
  /** Where the file goes. */
  readonly path: string;
  readonly maxBytes: number;
}

export const tooLarge = (input: string, maxBytes: number): string =>
  `The file of input ${input} has more than ${maxBytes} bytes, which are left of what the files of a run may have on this executor (EXECUTOR_INPUT_MAX_BYTES).`;

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

/** Gives the files of a run their names in the input folder: safe on every system, and each another one, also where case does not count. */
export const inputNames = (): ((text: string, contentType: string) => string) => {
  const taken = new Set<string>();
  const take = (name: string): string | undefined => {
    const key = name.toLowerCase();
    if (taken.has(key)) return undefined;
    taken.add(key);
    return name;
  };
  return (text, contentType) => {
    const name = safeFileName(text, contentType);
    let taking = take(name);
    for (let number = 2; taking === undefined; number += 1) taking = take(numberedFileName(name, number));
    return taking;
  };
};

const EXTENDED = /filename\*=utf-8''([^;\s]+)/i;
const PLAIN = /filename="?([^";]+)"?/i;

/** The name in a header `Content-Disposition`; empty without one. */
export const nameInDisposition = (header: string | undefined): string => {
  if (header === undefined) return '';
  const extended = EXTENDED.exec(header)?.[1];
  if (extended === undefined) return PLAIN.exec(header)?.[1] ?? '';
  try {
    return decodeURIComponent(extended);
  } catch {
    return '';
  }
};

/** The last part of the path of a URL. */
export const nameInUrl = ({ pathname }: URL): string => {
  const last = pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
};
