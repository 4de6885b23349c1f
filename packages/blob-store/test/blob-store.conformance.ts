import { createHash, randomBytes } from 'node:crypto';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { MAX_BLOB_BYTES } from '@runledger/contracts/limits';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BlobDamaged, BlobStoreFull, type BlobStore } from '../src/blob-store.ts';

/** A place for blobs, and adapters that share it, as processes do. */
export interface BlobStorage extends AsyncDisposable {
  open(): Promise<BlobStore>;
  /** An adapter whose connection is lost. */
  openDisconnected(): Promise<BlobStore>;
  /** How many copies of blobs it holds. */
  copies(): Promise<number>;
  /** When the present copy was stored. */
  storedAt(org_id: string, sha256: string): Promise<Date>;
  /** Writes other bytes in place of the blob. */
  damage(org_id: string, sha256: string): Promise<void>;
  remove(org_id: string, sha256: string): Promise<void>;
}

export interface StorageLimits {
  readonly maxBytes?: number;
  readonly lifetimeMs?: number;
}

const ORG = orgId(newUuid());
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const someBytes = (count = 10_000): Uint8Array => new Uint8Array(randomBytes(count));

/** An adapter may give any kind of byte array. */
const read = async (store: BlobStore, sha256: string): Promise<Uint8Array | undefined> => {
  const found = await store.get(ORG, sha256);
  return found && new Uint8Array(found);
};

/** What every store of blobs does. */
export const blobStoreConformance = (
  name: string,
  openStorage: (limits: StorageLimits) => Promise<BlobStorage>,
): void => {
  describe(`blobs in ${name}`, () => {
    let storage: BlobStorage;
    let store: BlobStore;
    beforeAll(async () => {
      storage = await openStorage({});
      store = await storage.open();
    });
    afterAll(() => storage[Symbol.asyncDispose]());

    it.each([1, 10_000, MAX_BLOB_BYTES])('of %i bytes are read as they were stored', async (count) => {
      const bytes = someBytes(count);
      const ref = await store.put(ORG, bytes);
      expect(ref).toEqual({ sha256: sha256Of(bytes), bytes: count });
      const found = await store.get(ORG, ref.sha256);
      expect(found && sha256Of(found)).toBe(ref.sha256);
    });

    it('are found with their copy, and stored again when they were erased before a reference was stored', async () => {
      const bytes = someBytes();
      const other = await storage.open();
      const ref = await store.put(ORG, bytes);
      const copy = await other.find(ORG, ref.sha256);
      expect(copy).toMatchObject({ ...ref, org_id: ORG });
      await store.confirm(ORG, bytes);
      expect(await other.find(ORG, ref.sha256)).toEqual(copy);
      expect(await other.eraseIfFree(ORG, ref.sha256, async () => false)).toEqual({
        kind: 'nothing_to_erase',
      });
      expect(await other.eraseIfFree(ORG, ref.sha256, async () => true)).toEqual({ kind: 'erased', copy });
      expect(await other.find(ORG, ref.sha256)).toBeUndefined();
      await store.confirm(ORG, bytes);
      expect(await read(other, ref.sha256)).toEqual(bytes);
    });

    it.each([0, MAX_BLOB_BYTES + 1])('of %i bytes are refused', async (count) => {
      await expect(store.put(ORG, someBytes(count))).rejects.toThrow(RangeError);
    });

    it('are stored once', async () => {
      const bytes = someBytes();
      const ref = await store.put(ORG, bytes);
      const copies = await storage.copies();
      const stored = await storage.storedAt(ORG, ref.sha256);
      expect(await store.put(ORG, bytes)).toEqual(ref);
      expect(await (await storage.open()).put(ORG, bytes)).toEqual(ref);
      expect(await storage.copies()).toBe(copies);
      expect(await storage.storedAt(ORG, ref.sha256)).toEqual(stored);
    });

    it('are stored once by writers at the same time', async () => {
      const bytes = someBytes();
      const copies = await storage.copies();
      const writers = await Promise.all(Array.from({ length: 8 }, () => storage.open()));
      const refs = await Promise.all(writers.map((writer) => writer.put(ORG, bytes)));
      expect(new Set(refs.map(({ sha256 }) => sha256)).size).toBe(1);
      expect(await storage.copies()).toBe(copies + 1);
      expect(await read(store, sha256Of(bytes))).toEqual(bytes);
    });

    it('belong to one organisation', async () => {
      const bytes = someBytes();
      const { sha256 } = await store.put(ORG, bytes);
      const other = newUuid();
      expect(await store.get(other, sha256)).toBeUndefined();
      expect(await store.renew(other, sha256)).toBe(false);
      const copies = await storage.copies();
      await store.put(other, bytes);
      expect(await storage.copies()).toBe(copies + 1);
    });

    it.each([
      [`${ORG}.*`, 'a'.repeat(64)],
      [ORG, '*'],
      [ORG, '>'],
      [ORG, 'A'.repeat(64)],
    ])('are not addressed by %s and %s', async (org_id, sha256) => {
      await expect(store.get(org_id, sha256)).rejects.toThrow(TypeError);
      await expect(store.renew(org_id, sha256)).rejects.toThrow(TypeError);
    });

    it('that nobody stored are absent', async () => {
      expect(await store.get(ORG, 'a'.repeat(64))).toBeUndefined();
      expect(await store.renew(ORG, 'a'.repeat(64))).toBe(false);
    });

    it('that were removed are absent, and can be stored again', async () => {
      const bytes = someBytes();
      const { sha256 } = await store.put(ORG, bytes);
      await storage.remove(ORG, sha256);
      expect(await store.get(ORG, sha256)).toBeUndefined();
      await (await storage.open()).put(ORG, bytes);
      expect(await read(store, sha256)).toEqual(bytes);
    });

    it('that are damaged are not returned, and storing them again repairs them', async () => {
      const bytes = someBytes();
      const { sha256 } = await store.put(ORG, bytes);
      await storage.damage(ORG, sha256);
      await expect(store.get(ORG, sha256)).rejects.toThrow(BlobDamaged);
      const other = await storage.open();
      await expect(other.renew(ORG, sha256)).rejects.toThrow(BlobDamaged);
      await other.put(ORG, bytes);
      expect(await read(store, sha256)).toEqual(bytes);
    });

    it('cannot be stored or read without a connection', async () => {
      const lost = await storage.openDisconnected();
      await expect(lost.put(ORG, someBytes())).rejects.toThrow(LogUnavailable);
      await expect(lost.get(ORG, 'a'.repeat(64))).rejects.toThrow(LogUnavailable);
      await expect(lost.renew(ORG, 'a'.repeat(64))).rejects.toThrow(LogUnavailable);
    });
  });

  it(`a full store in ${name} reports that it is full, and still returns its blobs`, async () => {
    await using storage = await openStorage({ maxBytes: 100_000 });
    const store = await storage.open();
    const bytes = someBytes(60_000);
    const { sha256 } = await store.put(ORG, bytes);
    await expect(store.put(ORG, someBytes(60_000))).rejects.toThrow(BlobStoreFull);
    expect(await read(store, sha256)).toEqual(bytes);
    expect(await (await storage.open()).put(ORG, bytes)).toEqual({ sha256, bytes: 60_000 });
    expect(await (await storage.open()).renew(ORG, sha256)).toBe(true);
  });

  const LIFETIME_MS = 4_000;
  it.each(['put', 'renew'] as const)(
    `a blob in ${name} is stored again by %s after half of its lifetime, and not before`,
    async (method) => {
      await using storage = await openStorage({ lifetimeMs: LIFETIME_MS });
      const bytes = someBytes();
      const { sha256 } = await (await storage.open()).put(ORG, bytes);
      const repeat = async (): Promise<Date> => {
        const store = await storage.open();
        await (method === 'put' ? store.put(ORG, bytes) : store.renew(ORG, sha256));
        return storage.storedAt(ORG, sha256);
      };
      const first = await storage.storedAt(ORG, sha256);
      expect(await repeat()).toEqual(first);
      const again = await waitFor('a new copy', async () => {
        const stored = await repeat();
        return stored > first && stored;
      });
      expect(again.getTime() - first.getTime()).toBeGreaterThanOrEqual(LIFETIME_MS / 2);
      expect(again.getTime() - first.getTime()).toBeLessThan(LIFETIME_MS);
      expect(await storage.copies()).toBe(1);
    },
  );
};
