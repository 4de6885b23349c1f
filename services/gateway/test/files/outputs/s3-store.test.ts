import { createHash, randomBytes } from 'node:crypto';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { testBucket, type TestBucket } from '@runledger/testing/servers/s3';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  contentOf,
  elementsOf,
  textOf,
  s3Requests,
  bucketUrl,
  type S3Requests,
  type S3Bucket,
} from '../../../src/files/stores/s3-requests.ts';
import { openS3Store, type S3Place } from '../../../src/files/stores/s3-output-store.ts';
import type { OutputStore, OutputToStore } from '../../../src/files/output-store.ts';
import { numbered } from '../../runs/attempts/an-upload.ts';

const DAY_MS = 86_400_000;
const MiB = 1024 ** 2;

const open = new AsyncDisposableStack();
let testing: TestBucket;
let bucket: S3Bucket;
let requests: S3Requests;
beforeAll(async () => {
  testing = await testBucket();
  bucket = {
    url: bucketUrl(testing.endpoint, testing.bucket, true),
    name: testing.bucket,
    region: 'us-east-1',
    accessKeyId: testing.accessKey,
    secretAccessKey: testing.secretKey,
  };
  requests = s3Requests(bucket);
});
afterAll(() => open.disposeAsync());

const storeAt = (
  prefix: string,
  days = 0,
  options: Pick<S3Place, 'everyMs' | 'listed'> = {},
): OutputStore => {
  const now = () => new Date(Date.now() + days * DAY_MS);
  const place = { prefix, keepMs: 10 * DAY_MS, ...options };
  return open.use(openS3Store(bucket, { logger: silentLogger, now }, place));
};
const aPrefix = (): string => `${testing.prefix}${randomBytes(4).toString('hex')}/`;
const anOutput = (): OutputToStore => ({
  key: randomBytes(32).toString('base64url'),
  filename: 'a.png',
  content_type: 'image/png',
});
async function* inPieces(bytes: Uint8Array, pieceBytes = 300_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const namesUnder = async (prefix: string): Promise<string[]> => {
  const { text } = await requests.ask({ method: 'GET', query: { 'list-type': '2', prefix } });
  return elementsOf(text, 'Contents').map((listed) => (textOf(listed, 'Key') ?? '').slice(prefix.length));
};
const uploadsUnder = async (prefix: string): Promise<number> => {
  const { text } = await requests.ask({ method: 'GET', query: { uploads: '', prefix } });
  return elementsOf(text, 'Upload').length;
};

describe('a file in a bucket', { timeout: 60_000 }, () => {
  it.each([8 * MiB - 1, 8 * MiB, 8 * MiB + 1, 20 * MiB])(
    'of %i bytes is stored and read, in parts when it is large',
    async (size) => {
      const prefix = aPrefix();
      const store = storeAt(prefix);
      const bytes = numbered(size);
      const stored = await store.put(anOutput(), inPieces(bytes));
      expect(stored).toMatchObject({ bytes: size, sha256: sha256(bytes) });
      const hash = createHash('sha256');
      for await (const piece of store.read(stored, { first: 0, last: size - 1 })) hash.update(piece);
      expect(hash.digest('hex')).toBe(stored.sha256);
      const across: Uint8Array[] = [];
      for await (const piece of store.read(stored, { first: 8 * MiB - 3, last: 8 * MiB - 2 }))
        across.push(piece);
      expect(Buffer.concat(across)).toEqual(Buffer.from(bytes.subarray(8 * MiB - 3, 8 * MiB - 1)));
      expect(await uploadsUnder(prefix)).toBe(0);
    },
  );

  it('leaves neither objects nor parts when its body fails after some parts', async () => {
    const prefix = aPrefix();
    const reason = new Error('the client has disconnected');
    const body = async function* (): AsyncGenerator<Uint8Array> {
      yield* inPieces(numbered(17 * MiB));
      throw reason;
    };
    await expect(storeAt(prefix).put(anOutput(), body())).rejects.toBe(reason);
    expect(await namesUnder(prefix)).toEqual([]);
    expect(await uploadsUnder(prefix)).toBe(0);
  });

  it('has the type that its client chose in its description only', async () => {
    const prefix = aPrefix();
    const { key } = await storeAt(prefix).put(
      { ...anOutput(), content_type: 'text/html' },
      inPieces(numbered(10)),
    );
    const { headers } = await requests.ask({ method: 'GET', name: contentOf(prefix, key) });
    expect(headers.get('content-type')).toBe('application/octet-stream');
  });

  it('is in one part of the bucket, and not found in another', async () => {
    const [one, other] = [aPrefix(), aPrefix()];
    const stored = await storeAt(one).put(anOutput(), inPieces(numbered(10)));
    expect(await storeAt(other).find(stored.key)).toBeUndefined();
    expect(await storeAt(other).remove(stored.key)).toBe(false);
    expect(await storeAt(one).find(stored.key)).toEqual(stored);
  });

  it('is not served when it is damaged', async () => {
    const prefix = aPrefix();
    const store = storeAt(prefix);
    const stored = await store.put(anOutput(), inPieces(numbered(1_000)));
    await requests.ask({ method: 'PUT', name: contentOf(prefix, stored.key), body: numbered(500) });
    await expect(store.read(stored, { first: 0, last: 999 })[Symbol.asyncIterator]().next()).rejects.toThrow(
      'another length',
    );
    await requests.ask({ method: 'PUT', name: `${prefix}${stored.key}/description`, body: numbered(9) });
    await expect(store.find(stored.key)).rejects.toThrow('is damaged');
  });
});

describe('files in a bucket', { timeout: 60_000 }, () => {
  it('expire after the configured days, and are removed by the next gateway that starts', async () => {
    const prefix = aPrefix();
    const store = storeAt(prefix);
    const { key } = await store.put(anOutput(), inPieces(numbered(10)));
    await store.put(anOutput(), inPieces(numbered(10)));
    await requests.ask({ method: 'PUT', name: `${prefix}notes.txt`, body: numbered(1) });
    expect(await storeAt(prefix, 9.9).find(key)).toBeDefined();
    expect(await storeAt(prefix, 10.1).find(key)).toBeUndefined();
    await waitFor('the files to be removed', async () => (await namesUnder(prefix)).length === 1);
    // What is not theirs stays.
    expect(await namesUnder(prefix)).toEqual(['notes.txt']);
  });

  it('are found however many there are, and removed over several lists', async () => {
    const prefix = aPrefix();
    const put = () =>
      requests.ask({ method: 'PUT', name: contentOf(prefix, anOutput().key), body: numbered(1) });
    await Promise.all(Array.from({ length: 25 }, put));
    expect(await namesUnder(prefix)).toHaveLength(25);
    storeAt(prefix, 11, { listed: 10 });
    await waitFor('the files to be removed', async () => (await namesUnder(prefix)).length === 0);
  });

  it('are removed a day later when a crashed gateway left them incomplete', async () => {
    const prefix = aPrefix();
    const left = contentOf(prefix, anOutput().key);
    await requests.ask({ method: 'PUT', name: left, body: numbered(10) });
    const whole = await storeAt(prefix).put(anOutput(), inPieces(numbered(10)));
    storeAt(prefix, 0.9);
    expect(await namesUnder(prefix)).toHaveLength(3);
    const later = storeAt(prefix, 1.1);
    expect(await later.find(left.split('/').at(-2) ?? '')).toBeUndefined();
    await waitFor('the rest to be removed', async () => (await namesUnder(prefix)).length === 2);
    expect(await later.find(whole.key)).toEqual(whole);
  });

  it('have no parts left of an upload that two sweeps saw', async () => {
    const prefix = aPrefix();
    await requests.ask({ method: 'POST', name: contentOf(prefix, anOutput().key), query: { uploads: '' } });
    storeAt(prefix);
    await storeAt(prefix).put(anOutput(), inPieces(numbered(9 * MiB)));
    expect(await uploadsUnder(prefix)).toBe(1);
    storeAt(prefix, 0, { everyMs: 100 });
    await waitFor('the upload to be ended', async () => (await uploadsUnder(prefix)) === 0);
    expect(await namesUnder(prefix)).toHaveLength(2);
  });
});
