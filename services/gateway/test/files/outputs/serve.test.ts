import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { open as openSocket } from '../../fixtures/requests/raw-request.ts';
import { succeeded } from '@runledger/testing/run-events';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { anAttemptOf, numbered, upload } from '../../runs/attempts/an-upload.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const SIZE = 1_000_000;
const store = async (bytes = numbered(SIZE), filename = 'picture.png', contentType = 'image/png') => {
  const attempt = await anAttemptOf(bed, await queueSample(gateway, bed.tenant), bytes.length);
  const { body } = await upload(gateway, attempt, bytes, { filename, contentType });
  return { attempt, file: body, url: `${gateway.url}/outputs/${body.key}/${encodeURIComponent(filename)}` };
};
const read = async (url: string, headers: Record<string, string> = {}, method = 'GET') => {
  const response = await fetch(url, { headers, method });
  return {
    status: response.status,
    headers: response.headers,
    bytes: new Uint8Array(await response.arrayBuffer()),
  };
};

describe('an output file', () => {
  it('is served at the address that the run shows, without a key', async () => {
    const { attempt, file, url } = await store();
    const output = { id: file.key, output_id: 'o', node_id: null, node_meta: null, type: null };
    const id = '01920000-0000-7000-8000-000000000001';
    await appendAll(bed.log, succeeded(attempt.run, [{ ...output, id, data: { images: [file] } }]));
    const { body } = await call(`${gateway.api}/run/${attempt.run.run_id}`, bed.tenant.key);
    expect(body.outputs[0].data.images[0].url).toBe(url);
    const { status, headers, bytes } = await read(url);
    expect(status).toBe(200);
    expect(Buffer.compare(bytes, numbered(SIZE))).toBe(0);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(SIZE),
      'content-disposition': 'inline; filename=picture.png',
      'accept-ranges': 'bytes',
      etag: `"${file.sha256}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none'/),
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, max-age=3600, immutable',
      'api-version': 'V2',
    });
  });

  it('is served in ranges', async () => {
    const { url } = await store();
    const all = numbered(SIZE);
    for (const [range, first, last] of [
      ['bytes=0-0', 0, 0],
      ['bytes=131071-131072', 131_071, 131_072],
      ['bytes=262144-', 262_144, SIZE - 1],
      ['bytes=500000-600000', 500_000, 600_000],
      ['bytes=-5', SIZE - 5, SIZE - 1],
      ['bytes=999999-', SIZE - 1, SIZE - 1],
    ] as const) {
      const { status, headers, bytes } = await read(url, { range });
      expect([range, status]).toEqual([range, 206]);
      expect(headers.get('content-range')).toBe(`bytes ${first}-${last}/${SIZE}`);
      expect(headers.get('content-length')).toBe(String(last - first + 1));
      expect(Buffer.compare(bytes, all.subarray(first, last + 1))).toBe(0);
    }
    const beyond = await read(url, { range: `bytes=${SIZE}-` });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${SIZE}`]);
  });

  it('is served in ranges also when other files were stored at the same time', async () => {
    const files = await Promise.all(
      Array.from({ length: 4 }, (_, index) => store(numbered(SIZE - index), `${index}.png`)),
    );
    for (const [index, { url }] of files.entries()) {
      const { bytes } = await read(url, { range: 'bytes=700000-800000' });
      expect(Buffer.compare(bytes, numbered(SIZE - index).subarray(700_000, 800_001))).toBe(0);
      expect((await read(url)).bytes).toHaveLength(SIZE - index);
    }
  });

  it('is not sent again to a client that has it', async () => {
    const { url, file } = await store(numbered(10));
    const etag = `"${file.sha256}"`;
    const known = await read(url, { 'if-none-match': `"x", W/${etag}` });
    expect([known.status, known.bytes.byteLength]).toEqual([304, 0]);
    expect(known.headers.get('etag')).toBe(etag);
    expect((await read(url, { 'if-none-match': '"x"' })).status).toBe(200);
    expect((await read(url, { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    expect((await read(url, { range: 'bytes=0-1', 'if-range': '"x"' })).status).toBe(200);
  });

  it('is described by HEAD', async () => {
    const { url } = await store();
    const { status, headers, bytes } = await read(url, {}, 'HEAD');
    expect([status, bytes.byteLength, headers.get('content-length')]).toEqual([200, 0, String(SIZE)]);
    expect(headers.get('content-type')).toBe('image/png');
  });

  it('may be empty', async () => {
    const { url } = await store(numbered(0));
    const { status, headers, bytes } = await read(url);
    expect([status, headers.get('content-length'), bytes.byteLength]).toEqual([200, '0', 0]);
  });

  it('may have a name in any script', async () => {
    const { url } = await store(numbered(10), 'Zürich 100% #1?.svg', 'image/svg+xml');
    const { status, headers } = await read(url);
    expect(status).toBe(200);
    expect(headers.get('content-disposition')).toMatch(
      /^attachment; .*filename\*=UTF-8''Z%C3%BCrich%20100%25%20%231%3F\.svg/,
    );
  });

  it('is not found with another key or name', async () => {
    const { file } = await store(numbered(10));
    const { key } = file;
    for (const path of [
      `${key}/other.png`,
      `${'a'.repeat(43)}/picture.png`,
      `${key}x/picture.png`,
      `*/a`,
      `%3E/a`,
    ]) {
      const { status, body } = await call(`${gateway.url}/outputs/${path}`, null);
      expect([path, status, body]).toEqual([path, 404, aRefusal('output_not_found', 'Output not found')]);
    }
    expect((await call(`${gateway.url}/outputs/${key}/picture.png`, null, { method: 'POST' })).status).toBe(
      405,
    );
  });

  it('is read by ten clients at once', async () => {
    const { url } = await store();
    const all = await Promise.all(Array.from({ length: 10 }, () => read(url)));
    expect(all.map(({ bytes }) => Buffer.compare(bytes, numbered(SIZE)))).toEqual(Array(10).fill(0));
  });
});

describe('a reader that stalls', { timeout: 90_000 }, () => {
  const MiB = 1024 * 1024;
  const LARGE = 32 * MiB;
  const READERS = 2;
  /** What the kernel holds of a connection on this machine, and a few chunks. */
  const MOST_FOR_EACH = 16 * MiB;

  it('makes the gateway read no more than its connection accepts, and gets the rest later', async () => {
    const { url } = await store(numbered(LARGE), 'large.bin', 'application/octet-stream');
    const { pathname } = new URL(url);
    const before = gateway.log.nc.stats().inBytes;
    const sockets = Array.from({ length: READERS }, () => {
      const socket = openSocket(gateway.url).pause();
      socket.write(`GET ${pathname} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return socket;
    });
    let [last, still] = [before, 0];
    await waitFor('the gateway to stop reading', () => {
      const present = gateway.log.nc.stats().inBytes;
      still = present === last && present - before > READERS * 128 * 1024 ? still + 1 : 0;
      last = present;
      return still === 10;
    });
    expect(last - before).toBeLessThan(READERS * MOST_FOR_EACH);

    let received = 0;
    for await (const piece of sockets[0] ?? []) received += Buffer.from(piece).byteLength;
    expect(received).toBeGreaterThan(LARGE);
    for (const socket of sockets) socket.destroy();
    expect((await read(url, { range: 'bytes=0-9' })).status).toBe(206);
  });
});
