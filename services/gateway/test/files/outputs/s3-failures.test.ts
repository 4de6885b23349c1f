import { inspect } from 'node:util';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { describe, expect, it } from 'vitest';
import { putContent } from '../../../src/files/stores/s3-objects.ts';
import { openS3Store } from '../../../src/files/stores/s3-output-store.ts';
import { s3Requests } from '../../../src/files/stores/s3-requests.ts';
import {
  OutputStoreFull,
  OutputStoreUnavailable,
  type OutputStore,
} from '../../../src/files/output-store.ts';
import { numbered } from '../../runs/attempts/an-upload.ts';
import { aStoreThatAnswers, failure, type AnsweringStore, type Behaviour } from './a-store-that-answers.ts';

const MiB = 1024 ** 2;
const KEY = 'k'.repeat(43);
const OUTPUT = { key: KEY, filename: 'a.png', content_type: 'image/png' };
const STORED = { ...OUTPUT, bytes: 10, sha256: 'a'.repeat(64), stored_at: new Date().toISOString() };
const EMPTY_LIST = { status: 200, text: '<ListBucketResult></ListBucketResult>' };

async function* body(bytes = numbered(10)): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Requests of the store itself; the sweep at its start is answered with an empty list. */
const open = async (behaviour: Behaviour): Promise<AnsweringStore & { readonly store: OutputStore }> => {
  let n = 0;
  const server = await aStoreThatAnswers((request) => {
    if (/[?&](?:list-type|uploads)=/.test(request.path) && request.method === 'GET') return EMPTY_LIST;
    n += 1;
    return behaviour(request, n - 1);
  });
  const place = { prefix: 'outputs/', keepMs: 86_400_000 };
  const store = openS3Store(server.bucket, { logger: silentLogger, now: () => new Date() }, place);
  return {
    ...server,
    store,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
};

describe('a request to a bucket', () => {
  it('arrives as it was signed, with and without a range, a body and a query', async () => {
    await using server = await aStoreThatAnswers(() => ({ status: 200, text: 'answer' }));
    const { ask, read } = s3Requests(server.bucket);
    await ask({ method: 'GET', query: { 'list-type': '2', prefix: 'a/', 'continuation-token': '1+/= &ü' } });
    await ask({ method: 'POST', name: 'a/b', query: { uploads: '' }, headers: { 'content-type': 'a/b' } });
    await ask({ method: 'PUT', name: 'a/b-_.c', body: numbered(1_000) });
    await ask({ method: 'DELETE', name: 'a/b' });
    const { body: read1 } = await read({ method: 'GET', name: 'a/b', headers: { range: 'bytes=0-1' } });
    await read1.cancel();
    expect(server.received.map(({ method, isSigned }) => [method, isSigned])).toEqual(
      ['GET', 'POST', 'PUT', 'DELETE', 'GET'].map((method) => [method, true]),
    );
  });

  it('is repeated while the store is unavailable, and not when it is refused', async () => {
    await using server = await aStoreThatAnswers((_request, n) =>
      n < 2 ? failure(503, 'SlowDown') : failure(403, 'AccessDenied'),
    );
    await expect(s3Requests(server.bucket).ask({ method: 'GET', name: 'a' })).rejects.toThrow(
      'it answered 403 AccessDenied: because',
    );
    expect(server.received).toHaveLength(3);
  });

  it('ends when there is no answer', { timeout: 30_000 }, async () => {
    await using server = await aStoreThatAnswers(() => 'hang');
    const begun = performance.now();
    const { ask } = s3Requests(server.bucket);
    await expect(ask({ method: 'GET', name: 'a', withinMs: 200 })).rejects.toThrow('within 0.2 s');
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});

describe('a store of files in a bucket', () => {
  it.each([
    [failure(403, 'QuotaExceeded')],
    [failure(507, 'XMinioStorageFull')],
    [{ status: 507, text: 'no room' }],
  ])('is full when it says %j', async (answer) => {
    await using server = await open(({ method }) => (method === 'PUT' ? answer : { status: 204 }));
    const storing = server.store.put(OUTPUT, body());
    await expect(storing).rejects.toThrow(OutputStoreFull);
    await expect(storing).rejects.toThrow(/^The bucket files of the output files is full\. .*KEEP_DAYS/);
    // Nothing is left.
    const removed = server.received.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
    expect(removed).toEqual([`/files/outputs/${KEY}/description`, `/files/outputs/${KEY}/content`]);
  });

  it.each([
    ['NoSuchBucket', 404, 'Create the bucket, or correct RUNLEDGER_OUTPUTS_S3_BUCKET'],
    ['AccessDenied', 403, 'Let the access key read, write, list and delete below the prefix'],
    ['SignatureDoesNotMatch', 403, 'Correct RUNLEDGER_OUTPUTS_S3_SECRET_KEY'],
    ['PermanentRedirect', 301, 'Correct RUNLEDGER_OUTPUTS_S3_REGION'],
  ])('is unavailable with %s, and says what to do', async (code, status, advice) => {
    await using server = await open(() => failure(status, code));
    const { store } = server;
    const uses: readonly (() => Promise<unknown>)[] = [
      () => store.find(KEY),
      () => store.put(OUTPUT, body()),
      () => store.remove(KEY),
      () => store.read(STORED, { first: 0, last: 9 })[Symbol.asyncIterator]().next(),
    ];
    for (const use of uses) {
      const failed = await use().catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(OutputStoreUnavailable);
      expect(String(failed)).toContain(advice);
      expect(inspect(failed, { depth: 10 })).not.toContain('a-secret-key');
    }
  });

  it('does not serve a file that ends too early, or a whole one instead of a part', async () => {
    await using server = await open((_request, n) =>
      n === 0
        ? { status: 206, text: '12345', headers: { 'content-length': '10' } }
        : { status: 200, text: '0123456789' },
    );
    const read = async (last: number): Promise<void> => {
      for await (const piece of server.store.read(STORED, { first: 0, last }))
        expect(piece.byteLength).toBe(5);
    };
    await expect(read(1)).rejects.toThrow(OutputStoreUnavailable);
    await expect(read(4)).rejects.toThrow('another length');
  });
});

describe('an upload in parts', () => {
  const begun = { status: 200, text: '<R><UploadId>u&amp;1</UploadId></R>' };
  const isComplete = (path: string, method: string): boolean =>
    method === 'POST' && path.includes('uploadId=u%261');

  it('names its parts in the last request', async () => {
    await using server = await aStoreThatAnswers(({ method, path }) => {
      if (method === 'PUT') return { status: 200, headers: { etag: '"<1>"' } };
      return isComplete(path, method) ? { status: 200, text: '<R></R>' } : begun;
    });
    const name = { name: 'a', content_type: 'a/b' };
    await putContent(s3Requests(server.bucket), name, body(numbered(9 * MiB)));
    expect(server.received.at(-1)?.body.toString()).toBe(
      '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"&lt;1&gt;"</ETag></Part>' +
        '<Part><PartNumber>2</PartNumber><ETag>"&lt;1&gt;"</ETag></Part></CompleteMultipartUpload>',
    );
  });

  it('fails when the store answers 200 and an error, and is ended', async () => {
    await using server = await aStoreThatAnswers(({ method, path }) => {
      if (isComplete(path, method)) return { ...failure(200, 'InvalidPart'), status: 200 };
      return method === 'POST' ? begun : { status: 200 };
    });
    const storing = putContent(
      s3Requests(server.bucket),
      { name: 'a', content_type: 'a/b' },
      body(numbered(8 * MiB)),
    );
    await expect(storing).rejects.toThrow('InvalidPart');
    expect(server.received.at(-1)).toMatchObject({ method: 'DELETE', path: '/files/a?uploadId=u%261' });
  });

  it('is whole when an earlier answer was lost', async () => {
    let completed = 0;
    await using server = await aStoreThatAnswers(({ method, path }) => {
      if (path.includes('list-type')) return { status: 200, text: '<R><Key>a</Key></R>' };
      if (!isComplete(path, method)) return method === 'POST' ? begun : { status: 200 };
      completed += 1;
      return completed === 1 ? failure(500, 'InternalError') : failure(404, 'NoSuchUpload');
    });
    await putContent(s3Requests(server.bucket), { name: 'a', content_type: 'a/b' }, body(numbered(8 * MiB)));
    expect(completed).toBe(2);
  });
});
