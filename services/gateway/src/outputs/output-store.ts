import type { ByteSpan } from './core/byte-range.ts';

export interface OutputToStore {
  /** Unguessable; the file is asked for by it. */
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

/** The store is away, full, or did not answer in time. */
export class OutputStoreUnavailable extends Error {
  override readonly name = 'OutputStoreUnavailable';
  readonly code = 'output_store_unavailable';
}

/**
 * Where output files are kept. A file is there as a whole or not at all, and never changes.
 * Every method may throw OutputStoreUnavailable.
 */
export interface OutputStore {
  /** Takes the body as fast as it is stored, and holds no more than a piece of it. When the body breaks off, nothing is kept and its error is thrown. */
  put(output: OutputToStore, body: AsyncIterable<Uint8Array>): Promise<StoredOutput>;
  find(key: string): Promise<StoredOutput | undefined>;
  /** Reads no faster than it is asked, a few pieces ahead at most. */
  read(output: StoredOutput, span: ByteSpan): AsyncIterable<Uint8Array>;
  remove(key: string): Promise<void>;
}
