import { createHash } from 'node:crypto';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';

/** One copy of a blob, as a store lists it. */
export interface StoredBlob extends BlobRef {
  readonly org_id: OrgId;
  /** By the clock of the store. */
  readonly storedAt: Date;
  /** Distinguishes it from a copy that is stored later. */
  readonly copy: number;
}

export interface StoredBlobs {
  /** In the order in which they were stored. */
  readonly blobs: readonly StoredBlob[];
  /** The time of the store when it was asked. */
  readonly now: Date;
}

/**
 * Bytes that are too large for an event or a record, by their SHA-256. Each organisation has its own: nobody learns by storing
 * bytes, or by asking for a hash, what another organisation has. Every method may throw LogUnavailable.
 */
export interface BlobStore {
  /**
   * Stores bytes, unless the organisation has them already. Store a blob before what refers to it: the copy was stored at most
   * half an hour ago, and what nothing refers to is erased after an hour. It stays for at least half of the store's lifetime.
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
  /**
   * For the writer of a reference to bytes that it has put: call it when the reference is stored. Somebody may have erased the blob
   * meanwhile, or be about to, since nothing referred to it when they looked; then the bytes are stored again. @throws {BlobStoreFull}
   */
  confirm(org_id: string, bytes: Uint8Array): Promise<void>;
  /** The copy that is stored now, without its bytes; undefined for none. */
  find(org_id: string, sha256: string): Promise<StoredBlob | undefined>;
  /** The next blobs of all organisations behind a copy; 0 for the first. */
  list(behind: number, limit: number): Promise<StoredBlobs>;
  /**
   * Erases a blob at once, if `isFree` says that nothing refers to it. Who stores a reference before `isFree` looks is seen by it; who
   * stores one later keeps the bytes by `confirm`. So a kill at any moment loses nothing, and the next call goes on where it was.
   * @throws {BlobStoreFull} what `isFree` throws
   */
  eraseIfFree(org_id: OrgId, sha256: string, isFree: IsFree): Promise<Erasure>;
  /** Erases this copy, unless it is already gone. One that was stored meanwhile stays. For copies that no request can begin to refer to. */
  erase(blob: StoredBlob): Promise<void>;
  /** Erases all that the organisation has, also what something refers to. Resolves with how many there were. */
  eraseAll(org_id: OrgId): Promise<number>;
}

/** Whether nothing refers to a copy, by all references that were stored before the call; undefined while that is unknown. */
export type IsFree = (copy: StoredBlob) => Promise<boolean | undefined>;

export type Erasure =
  | { readonly kind: 'erased'; readonly copy: StoredBlob }
  /** Something refers to it, or there is none. */
  | { readonly kind: 'nothing_to_erase' }
  /** Call it again later. */
  | { readonly kind: 'unknown' };

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

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
