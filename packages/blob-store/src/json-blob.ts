import type { JsonValue } from '@runledger/contracts/json';
import { BlobDamaged } from './store/blob-store.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** A value as the bytes of a blob. */
export const jsonBlob = (value: JsonValue): Uint8Array => encoder.encode(JSON.stringify(value));

/** The value in a blob. @throws {BlobDamaged} for bytes that `jsonBlob` did not make */
export const valueOfBlob = (bytes: Uint8Array): JsonValue => {
  try {
    // JSON gives a JSON value.
    return JSON.parse(decoder.decode(bytes)) as JsonValue;
  } catch (cause) {
    throw new BlobDamaged('A blob is not JSON in UTF-8, although its hash is right.', { cause });
  }
};
