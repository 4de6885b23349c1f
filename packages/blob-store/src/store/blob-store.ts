import type { BlobRef } from '@runledger/contracts/blobs';

/**
 * Bytes that are too large for an event or a record, by their SHA-256. Each organisation has its own: nobody learns by storing
 * bytes, or by asking for a hash, what another organisation has. Every method may throw LogUnavailable.
 */
export interface BlobStore {
  /**
   * Stores bytes, unless the organisation has them already. The blob then stays for at least half of the store's lifetime,
   * so store it before what refers to it.
   * @throws {BlobStoreFull}
   */
  put(org_id: string, bytes: Uint8Array): Promise<BlobRef>;
  /** Bytes that have this hash; undefined when they were never stored, or have expired. @throws {BlobDamaged} */
  get(org_id: string, sha256: string): Promise<Uint8Array | undefined>;
  /**
   * Makes a blob stay as long as `put` would, for another reference to it. False when it does not exist, or has expired.
   * @throws {BlobStoreFull} @throws {BlobDamaged}
   */
  renew(org_id: string, sha256: string): Promise<boolean>;
}

/** The store accepts nothing until its limit is raised or old blobs expire. */
export class BlobStoreFull extends Error {
  override readonly name = 'BlobStoreFull';
  readonly code = 'blob_store_full';
}

/** The stored bytes do not have the hash under which they are stored. Storing the right bytes again repairs it. */
export class BlobDamaged extends Error {
  override readonly name = 'BlobDamaged';
  readonly code = 'blob_damaged';
}
