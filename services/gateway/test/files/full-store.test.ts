import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';

const MiB = 1024 ** 2;
const PART_BYTES = 8 * MiB;
/** For one part of an upload, and less than another one. */
const STORE_BYTES = 12 * MiB;

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed({ outputsMaxBytes: STORE_BYTES });
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const FULL = {
  status: 507,
  body: {
    detail: expect.stringMatching(/^The object store OUTPUTS of the broker is full\. /),
    code: 'output_store_full',
  },
};

const post = (key: string, body: Uint8Array<ArrayBuffer>) =>
  call(`${gateway.api}/files`, key, { method: 'POST', body });

const remove = async (key: string, { id }: { readonly id: string }): Promise<void> => {
  expect((await call(`${gateway.api}/files/${id}`, key, { method: 'DELETE' })).status).toBe(204);
};

const read = async (key: string, { url }: { readonly url: string }): Promise<string> => {
  const content = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  return sha256(new Uint8Array(await content.arrayBuffer()));
};

const usageOf = async (key: string) => {
  const { files, file_bytes } = (await call(`${gateway.api}/usage`, key)).body;
  return [files.used, file_bytes.used];
};

const storedBytes = async (): Promise<number> => (await bed.log.jsm.streams.info('OBJ_OUTPUTS')).state.bytes;

describe('with a full store of output files', () => {
  it('a file in one request is refused and leaves nothing, and is stored when there is room', async () => {
    const { key } = await bed.newTenant();
    const [first, second] = [randomBytes(7 * MiB), randomBytes(6 * MiB)];
    const { body: file } = await post(key, first);
    const before = [await usageOf(key), await storedBytes()];
    expect(await post(key, second)).toMatchObject(FULL);
    expect([await usageOf(key), await storedBytes()]).toEqual(before);
    expect(await read(key, file)).toBe(sha256(first));

    await remove(key, file);
    const stored = await post(key, second);
    expect(stored).toMatchObject({ status: 201, body: { sha256: sha256(second) } });
    expect(await read(key, stored.body)).toBe(sha256(second));
    await remove(key, stored.body);
  });

  it('a resumable upload keeps what it has, and goes on there when there is room', async () => {
    const { key } = await bed.newTenant();
    const bytes = randomBytes(PART_BYTES + 3 * MiB);
    const { body: other } = await post(key, randomBytes(2 * MiB));
    const headers = { 'upload-length': String(bytes.length) };
    const { body } = await call(`${gateway.api}/files/uploads`, key, { method: 'POST', headers });
    const send = (offset: number) =>
      call(body.url, key, {
        method: 'PATCH',
        body: bytes.subarray(offset),
        headers: { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
      });
    const offset = async (): Promise<number> =>
      Number((await call(body.url, key, { method: 'HEAD' })).headers.get('upload-offset'));

    expect(await send(0)).toMatchObject(FULL);
    expect(await offset()).toBe(PART_BYTES);
    // Nobody has made room: it is refused at once, and not as if somebody else was writing.
    expect(await send(PART_BYTES)).toMatchObject(FULL);
    expect(await offset()).toBe(PART_BYTES);

    await remove(key, other);
    expect((await send(PART_BYTES)).status).toBe(204);
    const { file } = (await call(body.url, key)).body;
    expect(file.sha256).toBe(sha256(bytes));
    expect(await read(key, file)).toBe(sha256(bytes));
  });
});
