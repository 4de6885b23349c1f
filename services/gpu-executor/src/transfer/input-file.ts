import { errorOf, type AttemptError, type AttemptErrorKind } from '@runledger/contracts/events/run-error';
import { createHash, type Hash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
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

export interface FileToFetch {
  /** Where the file goes. */
  readonly path: string;
  readonly maxBytes: number;
  /** For people, as the beginning of a sentence. */
  readonly what: string;
  /** Of the error when it cannot be had. */
  readonly kind: AttemptErrorKind;
  /** One sentence, for people. */
  readonly tooLarge: string;
  /** What is at the path already. It is continued also where nothing says that it is of the same file: who gives it checks the hash of the whole. */
  readonly part?: PartOfFile;
  /** Of a request to the origin of the URL, until a redirect leads to another one: they may hold secrets. */
  readonly headers?: (url: URL) => Promise<Readonly<Record<string, string>>>;
}

/** The file of an input, or of an item of one that is a list. */
export const inputFile = (input: string, path: string, maxBytes: number): FileToFetch => ({
  path,
  maxBytes,
  what: `The file of input ${input}`,
  kind: 'input_unavailable',
  tooLarge: `The file of input ${input} has more than ${maxBytes} bytes, which are left of what the files of a run may have on this executor (EXECUTOR_INPUT_MAX_BYTES).`,
});

/** `why` is a sentence, for people. */
export const notFetched = ({ kind, what }: FileToFetch, why: string, retryable: boolean): FetchedFile => ({
  kind: 'refused',
  error: errorOf(kind, `${what} cannot be fetched: ${why}`, { retryable }),
});

export const isTooLarge = ({ kind, tooLarge }: FileToFetch): FetchedFile => ({
  kind: 'refused',
  error: errorOf(kind, tooLarge, { retryable: false }),
});

/** The file has more bytes than it may have. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** What of a file is on the disk. It grows while the file is saved, and a failure leaves it as it is. */
export interface PartOfFile {
  bytes: number;
  /** Of all of the file; null while nobody has said it. */
  of: number | null;
  /** SHA-256 of these bytes. */
  hash: Hash;
  /** A strong one, which says that another part is of the same file. */
  etag: string | null;
}

export const noPart = (): PartOfFile => ({ bytes: 0, of: null, hash: createHash('sha256'), etag: null });

interface SavedBody {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Writes the body of a response to a file, behind the part that is there already, as fast as the disk takes it.
 * @throws {TooLarge} and errors of the connection and the disk
 */
export const saveBody = async (
  incoming: IncomingMessage,
  path: string,
  maxBytes: number,
  part: PartOfFile = noPart(),
): Promise<SavedBody> => {
  const length = incoming.headers['content-length'];
  part.of = length === undefined ? null : part.bytes + Number(length);
  if (part.of !== null && part.of > maxBytes) throw new TooLarge();
  await using file = await open(path, part.bytes === 0 ? 'w' : 'r+', 0o600);
  const queue = writeQueue(file, part);
  let received = part.bytes;
  try {
    for await (const piece of incoming as AsyncIterable<Buffer>) {
      received += piece.byteLength;
      if (received > maxBytes) throw new TooLarge();
      await queue.add(piece);
    }
  } finally {
    await queue.end();
  }
  // A try before this one may have got further.
  await file.truncate(part.bytes);
  return { bytes: part.bytes, sha256: part.hash.copy().digest('hex') };
};

/** That wait while the disk writes the ones before. */
const MAX_WAITING_BYTES = 1024 ** 2;

interface WriteQueue {
  /** Resolves when more may come. Rejects when the disk has failed, also for an earlier one. */
  add(piece: Buffer): Promise<void>;
  /** Everything is written. */
  end(): Promise<void>;
}

/** The disk writes what has come while the next pieces come, and those then at once. */
const writeQueue = (file: FileHandle, part: PartOfFile): WriteQueue => {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let writing: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const pieces = waiting;
      [waiting, waitingBytes] = [[], 0];
      await writeAll(file, pieces, part.bytes);
      for (const piece of pieces) {
        part.hash.update(piece);
        part.bytes += piece.byteLength;
      }
    }
    writing = undefined;
  };
  return {
    add: async (piece) => {
      waiting.push(piece);
      waitingBytes += piece.byteLength;
      if (writing === undefined) {
        writing = write();
        // Whoever adds the next pieces, or ends, is told.
        writing.catch(() => undefined);
      }
      if (waitingBytes > MAX_WAITING_BYTES) await writing;
    },
    end: async () => writing,
  };
};

/** A disk that is nearly full takes less than it was given. */
const writeAll = async (file: FileHandle, pieces: readonly Buffer[], position: number): Promise<void> => {
  const { bytesWritten } = await file.writev(pieces, position);
  const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (bytesWritten < bytes)
    await writeAll(file, [Buffer.concat(pieces).subarray(bytesWritten)], position + bytesWritten);
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
