import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Static, TObject, TProperties } from 'typebox';
import type { ByteSpan } from '../core/byte-range.ts';

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

/** A technology that can keep output files. */
export interface OutputStoreAdapter<Settings extends TProperties> {
  /** Its environment variables. */
  readonly settings: Settings;
  /** Reading a file needs the broker. */
  readonly needsLog: boolean;
  /** @throws {ConfigError} when its settings do not fit together */
  open(config: Static<TObject<Settings>>, parts: OutputStoreParts): OutputStore & AsyncDisposable;
}
