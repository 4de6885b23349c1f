import { parseJson, type JsonValue } from '@runledger/contracts/json';
import { BlobDamaged, type BlobStore } from './blob-store.ts';

const encoder = new TextEncoder();

/** A value as the bytes of a blob. */
export const jsonBlob = (value: JsonValue): Uint8Array => encoder.encode(JSON.stringify(value));

export type ReadJsonBlob =
  | { readonly kind: 'found'; readonly value: JsonValue; readonly bytes: number }
  /** It was never stored, or has expired. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'damaged'; readonly error: BlobDamaged };

/** Reads a value that was stored as `jsonBlob`. @throws {LogUnavailable} */
export const readJsonBlob = async (
  store: Pick<BlobStore, 'get'>,
  org_id: string,
  sha256: string,
): Promise<ReadJsonBlob> => {
  try {
    const bytes = await store.get(org_id, sha256);
    if (!bytes) return { kind: 'gone' };
    // The hash is right, so these are the bytes that `jsonBlob` made.
    const value = parseJson(new TextDecoder().decode(bytes)) as JsonValue;
    return { kind: 'found', value, bytes: bytes.byteLength };
  } catch (error) {
    if (error instanceof BlobDamaged) return { kind: 'damaged', error };
    throw error;
  }
};
