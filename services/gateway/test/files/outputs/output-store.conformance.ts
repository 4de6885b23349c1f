import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OutputStore, OutputToStore, StoredOutput } from '../../../src/files/output-store.ts';
import { numbered } from '../../runs/attempts/an-upload.ts';

/** Storage for output files, and adapters that share it, as gateways do. */
export interface OutputStorage extends AsyncDisposable {
  open(): OutputStore;
  /** How many pieces of files there are, also of files that are being written. */
  size(): Promise<number>;
}

const SIZE = 1_000_000;
const newKey = (): string => randomBytes(32).toString('base64url');
const anOutput = (filename = 'picture.png'): OutputToStore => ({
  key: newKey(),
  filename,
  content_type: 'image/png',
});
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The bytes as a network brings them. */
async function* inPieces(bytes: Uint8Array, pieceBytes = 60_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

const readAll = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read);
};

/** What every store of output files does. */
export const outputStoreConformance = (name: string, openStorage: () => Promise<OutputStorage>): void => {
  describe(`output files in ${name}`, { timeout: 30_000 }, () => {
    let storage: OutputStorage;
    let store: OutputStore;
    beforeAll(async () => {
      storage = await openStorage();
      store = storage.open();
    });
    afterAll(() => storage[Symbol.asyncDispose]());

    const put = (bytes: Uint8Array, output = anOutput()): Promise<StoredOutput> =>
      store.put(output, inPieces(bytes));
    const whole = ({ bytes }: StoredOutput) => ({ first: 0, last: bytes - 1 });

    it('are kept for a reported time', async () => {
      expect(await store.keepsForMs()).toBe(90 * 24 * 3_600_000);
    });

    it('are stored unchanged, with their description', async () => {
      const before = Date.now();
      const output = anOutput('Zürich 100% #1?.svg');
      const stored = await put(numbered(SIZE), output);
      expect(stored).toEqual({
        ...output,
        bytes: SIZE,
        sha256: sha256(numbered(SIZE)),
        stored_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      });
      expect(Math.abs(Date.parse(stored.stored_at) - before)).toBeLessThan(60_000);
      expect(await store.find(output.key)).toEqual(stored);
      expect(Buffer.compare(await readAll(store.read(stored, whole(stored))), numbered(SIZE))).toBe(0);
    });

    it('may be empty', async () => {
      const stored = await put(new Uint8Array());
      expect(stored).toMatchObject({ bytes: 0, sha256: sha256(new Uint8Array()) });
      expect(await store.find(stored.key)).toEqual(stored);
    });

    it.each([
      [0, 0],
      [131_071, 131_072],
      [262_144, SIZE - 1],
      [500_000, 600_000],
      [SIZE - 1, SIZE - 1],
    ])('are read in part: %i to %i', async (first, last) => {
      const stored = await put(numbered(SIZE));
      const read = await readAll(store.read(stored, { first, last }));
      expect(Buffer.compare(read, numbered(SIZE).subarray(first, last + 1))).toBe(0);
    });

    it('are stored several at once, under one name', async () => {
      const sizes = [700_000, 500_000, 300_000];
      const stored = await Promise.all(sizes.map((size) => put(numbered(size))));
      for (const [index, one] of stored.entries()) {
        const read = await readAll(store.read(one, whole(one)));
        expect(Buffer.compare(read, numbered(sizes[index] ?? 0))).toBe(0);
      }
    });

    it('are found by every adapter of the same storage', async () => {
      const stored = await put(numbered(10));
      const other = storage.open();
      expect(await other.find(stored.key)).toEqual(stored);
      expect((await readAll(other.read(stored, whole(stored)))).byteLength).toBe(10);
    });

    it.each([
      '',
      '.',
      '..',
      '../../etc/passwd',
      '*',
      '>',
      'a/b',
      '%2e%2e',
      'a'.repeat(43),
      `${'a'.repeat(42)}/`,
      `..${'/'.repeat(41)}`,
    ])('are not found with an unknown key: %j', async (key) => {
      await put(numbered(10));
      expect(await store.find(key)).toBeUndefined();
    });

    it('do not exist before their last byte is stored', async () => {
      const output = anOutput();
      const rest = Promise.withResolvers<void>();
      const halfWay = Promise.withResolvers<void>();
      const body = async function* (): AsyncGenerator<Uint8Array> {
        yield numbered(400_000);
        halfWay.resolve();
        await rest.promise;
        yield numbered(100_000);
      };
      const storing = store.put(output, body());
      await halfWay.promise;
      expect(await store.find(output.key)).toBeUndefined();
      rest.resolve();
      expect(await storing).toMatchObject({ bytes: 500_000 });
      expect(await store.find(output.key)).toMatchObject({ bytes: 500_000 });
    });

    it('leave nothing when their body fails, and fail with its error', async () => {
      const before = await storage.size();
      const output = anOutput();
      const reason = new Error('the client has disconnected');
      const body = async function* (): AsyncGenerator<Uint8Array> {
        yield* inPieces(numbered(400_000));
        throw reason;
      };
      await expect(store.put(output, body())).rejects.toBe(reason);
      expect(await store.find(output.key)).toBeUndefined();
      await expect.poll(() => storage.size()).toBe(before);
    });

    it('are removed completely', async () => {
      const before = await storage.size();
      const stored = await put(numbered(SIZE));
      expect(await storage.size()).toBeGreaterThan(before);
      await store.remove(stored.key);
      expect(await store.find(stored.key)).toBeUndefined();
      await expect.poll(() => storage.size()).toBe(before);
      await store.remove(stored.key);
      await store.remove(newKey());
      await store.remove('../..');
    });

    it('are read in pieces, and the reader may stop in between', async () => {
      const large = 8 * SIZE;
      const stored = await put(numbered(large));
      const reading = store.read(stored, whole(stored))[Symbol.asyncIterator]();
      const { value: first } = await reading.next();
      expect(first?.byteLength).toBeGreaterThan(0);
      expect(first?.byteLength).toBeLessThan(SIZE);
      await reading.return?.();
      expect((await readAll(store.read(stored, whole(stored)))).byteLength).toBe(large);
    });
  });
};
