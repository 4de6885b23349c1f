import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({
    environment: {
      RUNLEDGER_FILE_MAX_BYTES: '200000',
      RUNLEDGER_QUOTA_FILE_BYTES: '500000',
      RUNLEDGER_QUOTA_FILES: '4',
    },
  });
});
afterAll(() => bed[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const upload = (key: string, bytes: Uint8Array<ArrayBuffer>, filename = 'photo.png', type = 'image/png') =>
  call(`${gateway.api}/files?filename=${encodeURIComponent(filename)}`, key, {
    method: 'POST',
    body: bytes,
    headers: { 'content-type': type },
  });

const storedParts = async (): Promise<number> => {
  const { state } = await bed.log.jsm.streams.info('OBJ_OUTPUTS', { subjects_filter: '$O.OUTPUTS.C.>' });
  return Object.keys(state.subjects ?? {}).length;
};

const content = async (url: string, key: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}`, ...headers } });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
};

describe('the list of files', () => {
  it('has those of the organisation, the last uploaded one first, in pages', async () => {
    const [{ key }, stranger] = [await bed.newTenant(), await bed.newTenant()];
    const list = (query = '') => call(`${gateway.api}/files${query}`, key);
    expect((await list()).body).toEqual({ files: [], next_cursor: null });
    await upload(stranger.key, randomBytes(10));
    const uploaded: unknown[] = [];
    for (const name of ['a.png', 'b.png', 'c.png'])
      uploaded.unshift((await upload(key, randomBytes(10), name)).body);
    expect((await list()).body).toEqual({ files: uploaded, next_cursor: null });
    const first = await list('?limit=2');
    expect(first.body.files).toEqual(uploaded.slice(0, 2));
    const second = await list(`?limit=2&cursor=${first.body.next_cursor}`);
    expect(second.body).toEqual({ files: uploaded.slice(2), next_cursor: null });
    expect((await list('?cursor=x')).status).toBe(422);
  });
});

describe('a file', () => {
  it('is described by its upload, and read at its address', async () => {
    const { key } = await bed.newTenant();
    const bytes = randomBytes(150_000);
    const { status, body } = await upload(key, bytes);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      url: `${gateway.api}/files/${body.id}/content`,
      filename: 'photo.png',
      bytes: 150_000,
      sha256: sha256(bytes),
      content_type: 'image/png',
      expires_at: expect.any(String),
    });
    const days = (Date.parse(body.expires_at) - Date.now()) / 86_400_000;
    expect(days).toBeCloseTo(14, 1);
    expect((await call(`${gateway.api}/files/${body.id}`, key)).body).toEqual(body);
    const whole = await content(body.url, key);
    expect(whole.bytes.equals(bytes)).toBe(true);
    expect(Object.fromEntries(whole.response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'inline; filename=photo.png',
      'cache-control': 'private, no-cache',
      'content-security-policy': expect.stringMatching(/^sandbox/),
    });
    const part = await content(body.url, key, { range: 'bytes=100000-100009' });
    expect([part.response.status, part.bytes.equals(bytes.subarray(100_000, 100_010))]).toEqual([206, true]);
  });

  it('is stored once, with the name and the type that came last', async () => {
    const { key } = await bed.newTenant();
    const bytes = randomBytes(1_000);
    const first = await upload(key, bytes);
    const parts = await storedParts();
    const second = await upload(key, bytes, 'again.webp', 'image/webp');
    expect(second.body).toMatchObject({
      id: first.body.id,
      filename: 'again.webp',
      content_type: 'image/webp',
    });
    expect(await storedParts()).toBe(parts);
    const usage = await call(`${gateway.api}/usage`, key);
    expect(usage.body).toMatchObject({
      files: { used: 1, limit: 4, unit: 'files' },
      file_bytes: { used: 1_000, limit: 500_000, unit: 'bytes' },
    });
  });

  it('does not exist for another organisation, also when that one has the same bytes', async () => {
    const [one, other] = [await bed.newTenant(), await bed.newTenant()];
    const bytes = randomBytes(100);
    const { body } = await upload(one.key, bytes);
    const same = await upload(other.key, bytes);
    expect(same.body.id).not.toBe(body.id);
    for (const path of ['', '/content']) {
      expect(await call(`${gateway.api}/files/${body.id}${path}`, other.key)).toMatchObject({
        status: 404,
        body: { detail: 'File not found' },
      });
    }
    const deletion = await call(`${gateway.api}/files/${body.id}`, other.key, { method: 'DELETE' });
    expect(deletion.status).toBe(404);
    expect((await call(`${gateway.api}/files/${body.id}`, one.key)).status).toBe(200);
  });

  it('is gone with its bytes once it is deleted', async () => {
    const { key } = await bed.newTenant();
    const before = await storedParts();
    const { body } = await upload(key, randomBytes(100));
    expect((await call(`${gateway.api}/files/${body.id}`, key, { method: 'DELETE' })).status).toBe(204);
    expect((await call(`${gateway.api}/files/${body.id}`, key)).status).toBe(404);
    expect(await storedParts()).toBe(before);
  });

  it('may be empty', async () => {
    const { key } = await bed.newTenant();
    const { status, body } = await upload(key, new Uint8Array());
    expect([status, body.bytes, body.sha256]).toEqual([201, 0, sha256(new Uint8Array())]);
    expect((await content(body.url, key)).bytes).toHaveLength(0);
  });

  it.each([
    ['../../etc/passwd', 'passwd.png'],
    ['con', '_con.png'],
    ['a\nb', 'a_b.png'],
    [`${'x'.repeat(300)}.png`, `${'x'.repeat(176)}.png`],
  ])('that is named %j is called %j', async (given, expected) => {
    const { key } = await bed.newTenant();
    expect((await upload(key, randomBytes(10), given)).body.filename).toBe(expected);
  });
});

describe('an upload is refused', () => {
  it('when the file is too large, without a length, or a form', async () => {
    const { key } = await bed.newTenant();
    expect(await upload(key, new Uint8Array(200_001))).toMatchObject({
      status: 413,
      body: {
        detail: 'A file may have at most 200000 bytes (RUNLEDGER_FILE_MAX_BYTES), and this one has 200001',
      },
    });
    const unknownLength = { method: 'POST', body: new Blob(['x']).stream(), duplex: 'half' } as const;
    const chunked = await call(`${gateway.api}/files`, key, unknownLength);
    expect(chunked.status).toBe(411);
    const form = new FormData();
    form.append('file', new Blob(['x']), 'photo.png');
    const sent = await call(`${gateway.api}/files`, key, { method: 'POST', body: form });
    expect(sent).toMatchObject({ status: 415, body: { detail: expect.stringContaining('--data-binary') } });
  });

  it('at the quota of bytes, and of files, until one is deleted', async () => {
    const { key } = await bed.newTenant();
    const first = await upload(key, randomBytes(200_000));
    await upload(key, randomBytes(200_000));
    expect(await upload(key, randomBytes(200_000))).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('RUNLEDGER_QUOTA_FILE_BYTES') },
    });
    await call(`${gateway.api}/files/${first.body.id}`, key, { method: 'DELETE' });
    for (let count = 1; count <= 3; count += 1)
      expect((await upload(key, randomBytes(count))).status).toBe(201);
    expect(await upload(key, randomBytes(10))).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('RUNLEDGER_QUOTA_FILES') },
    });
  });

  it('without the scope to write', async () => {
    const { key } = await bed.newTenant();
    const derived = await call(`${gateway.api}/api-keys`, key, {
      method: 'POST',
      body: JSON.stringify({ name: 'reader', scopes: ['runs:read'] }),
      headers: { 'content-type': 'application/json' },
    });
    expect((await upload(derived.body.key, randomBytes(1))).status).toBe(403);
  });
});
