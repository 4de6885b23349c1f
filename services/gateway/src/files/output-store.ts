import { createHash } from 'node:crypto';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { Type, type Static, type TObject, type TProperties } from 'typebox';
import { Sha256 } from '@runledger/contracts/blobs';

const KEY = /^[A-Za-z0-9_-]{43}$/;

/** 32 random bytes in base64url. */
export const isOutputKey = (text: string): boolean => KEY.test(text);

export interface OutputToStore {
  /** Unguessable: anyone who knows it may read the file. */
  readonly key: string;
  readonly filename: string;
  readonly content_type: string;
}

export interface StoredOutput extends OutputToStore {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  readonly stored_at: string;
}

/** The store cannot be reached, or did not answer in time. */
export class OutputStoreUnavailable extends Error {
  override readonly name = 'OutputStoreUnavailable';
  readonly code = 'output_store_unavailable';
}

/** The store has no room. Its message names the store and says what to do, for the user whose run ends by it. */
export class OutputStoreFull extends Error {
  override readonly name = 'OutputStoreFull';
  readonly code = 'output_store_full';
}

/**
 * Where output files are kept. A file exists completely or not at all, never changes, and expires after a time that the
 * store sets. Every method may throw OutputStoreUnavailable.
 */
export interface OutputStore {
  /**
   * Reads the body as fast as it is stored, one piece at a time. When the body fails, nothing is kept and its error is thrown.
   * @throws {OutputStoreFull} and nothing is kept
   */
  put(output: OutputToStore, body: AsyncIterable<Uint8Array>): Promise<StoredOutput>;
  /** Undefined for any text that is not the key of a file. */
  find(key: string): Promise<StoredOutput | undefined>;
  /** Reads at the pace of the caller, at most a few pieces ahead. */
  read(output: StoredOutput, span: ByteSpan): AsyncIterable<Uint8Array>;
  /** How long it keeps a file, in milliseconds. */
  keepsForMs(): Promise<number>;
  /** False when the file does not exist. */
  remove(key: string): Promise<boolean>;
}

export interface OutputStoreParts {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly now: () => Date;
}

/** What a store is for. Models are kept until they are removed: nothing of them expires. */
export type StorePlace = 'outputs' | 'models';

/** A technology that can keep output files. */
export interface OutputStoreAdapter<Settings extends TProperties> {
  /** Its environment variables. */
  readonly settings: Settings;
  /** Reading a file needs the broker. */
  readonly needsLog: boolean;
  /** @throws {ConfigError} when its settings do not fit together */
  open(
    config: Static<TObject<Settings>>,
    parts: OutputStoreParts,
    place: StorePlace,
  ): OutputStore & AsyncDisposable;
}

/** What a store keeps beside the bytes of a file, as JSON. */
export const FileDescription = Type.Object({
  key: Type.String(),
  filename: Type.String(),
  content_type: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Sha256,
});

export const DAY_MS = 86_400_000;

/** Of stores that let files expire themselves. */
export const keepDaysConfig = {
  RUNLEDGER_OUTPUTS_KEEP_DAYS: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 90,
    description: 'with RUNLEDGER_OUTPUTS=directory or s3: days for which an output file is kept',
  }),
};

/** Stores a body, of which `store` reads the pieces. Throws the error of a body that fails, and otherwise what `failed` makes of the store's. */
export const storing = async <Stored>(
  body: AsyncIterable<Uint8Array>,
  store: (pieces: AsyncIterable<Uint8Array>) => Promise<Stored>,
  failed: (error: unknown) => Error | Promise<Error>,
): Promise<Stored> => {
  let broken: unknown;
  const read = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* body;
    } catch (error) {
      broken = error;
      throw error;
    }
  };
  const pieces = read();
  try {
    return await store(pieces);
  } catch (error) {
    // A store stops reading a body that it cannot store.
    void pieces.return();
    const failure = await failed(error);
    throw broken ?? failure;
  }
};

/** A body, and what went by of it: the size, and the SHA-256 in hexadecimal. */
export const hashed = (
  body: AsyncIterable<Uint8Array>,
): {
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly done: () => { readonly bytes: number; readonly sha256: string };
} => {
  const hash = createHash('sha256');
  let bytes = 0;
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of body) {
      hash.update(piece);
      bytes += piece.byteLength;
      yield piece;
    }
  };
  return { pieces: pieces(), done: () => ({ bytes, sha256: hash.digest('hex') }) };
};

/** Sweeps now and every so many milliseconds. It ends after the sweep that the signal stops. */
export const openSweeps = (everyMs: number, sweep: (stop: AbortSignal) => Promise<void>): AsyncDisposable => {
  const stop = new AbortController();
  let sweeping = sweep(stop.signal);
  const timer = setInterval(() => {
    sweeping = sweeping.then(() => sweep(stop.signal));
  }, everyMs).unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      stop.abort();
      await sweeping;
    },
  };
};

/** The first and the last byte, both included. */
export interface ByteSpan {
  readonly first: number;
  readonly last: number;
}

export type Range =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly span: ByteSpan }
  | { readonly kind: 'unsatisfiable' };

/**
 * The header `Range` (RFC 9110, section 14.2) for a file of this size. One range of bytes is served. For several ranges,
 * other units and invalid ranges the whole file is served, as the RFC allows.
 */
export const readRange = (header: string | undefined, bytes: number): Range => {
  const [, from = '', to = ''] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return { kind: 'whole' };
  if (from === '') {
    const length = Math.min(Number(to), bytes);
    return length === 0
      ? { kind: 'unsatisfiable' }
      : { kind: 'part', span: { first: bytes - length, last: bytes - 1 } };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return { kind: 'whole' };
  if (first >= bytes) return { kind: 'unsatisfiable' };
  return { kind: 'part', span: { first, last: to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1) } };
};
