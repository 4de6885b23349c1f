import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';

const MiB = 1024 ** 2;
let bed: TestBed;
let gateway: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  [gateway, other] = await Promise.all([bed.gateway(), bed.gateway()]);
});
afterAll(() => bed[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const begin = (key: string, bytes: number, metadata?: string) =>
  call(`${gateway.api}/files/uploads`, key, {
    method: 'POST',
    headers: {
      'tus-resumable': '1.0.0',
      'upload-length': String(bytes),
      ...(metadata === undefined ? {} : { 'upload-metadata': metadata }),
    },
  });

const send = (url: string, key: string, offset: number, bytes: Uint8Array<ArrayBuffer>) =>
  call(url, key, {
    method: 'PATCH',
    body: bytes,
    headers: {
      'tus-resumable': '1.0.0',
      'upload-offset': String(offset),
      'content-type': 'application/offset+octet-stream',
    },
  });

const offsetOf = async (url: string, key: string): Promise<number> =>
  Number((await call(url, key, { method: 'HEAD' })).headers.get('upload-offset'));

/** A PATCH that sends these bytes and then stalls. */
const stall = (url: string, key: string, bytes: Uint8Array, length: number) => {
  const sending = request(url, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${key}`,
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': String(length),
    },
  });
  sending.on('error', () => undefined);
  sending.write(bytes);
  return sending;
};

describe('a resumable upload', () => {
  it('makes a file of the bytes that several requests send, at any gateway', async () => {
    const { key } = await bed.newTenant();
    const bytes = randomBytes(3_000);
    const begun = await begin(key, 3_000, `filename ${base64('film.mp4')},filetype ${base64('video/mp4')}`);
    expect(begun).toMatchObject({ status: 201, body: { offset: 0, bytes: 3_000, file: null } });
    expect(begun.headers.get('location')).toBe(begun.body.url);
    expect(begun.headers.get('tus-resumable')).toBe('1.0.0');
    const first = await send(begun.body.url, key, 0, bytes.subarray(0, 1_000));
    expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '1000']);
    const elsewhere = `${other.api}/files/uploads/${begun.body.id}`;
    expect(await offsetOf(elsewhere, key)).toBe(1_000);
    const last = await send(elsewhere, key, 1_000, bytes.subarray(1_000));
    expect([last.status, last.headers.get('upload-offset')]).toEqual([204, '3000']);
    const { body } = await call(begun.body.url, key);
    expect(body.file).toMatchObject({
      filename: 'film.mp4',
      content_type: 'video/mp4',
      bytes: 3_000,
      sha256: sha256(bytes),
    });
    const content = await fetch(body.file.url, { headers: { authorization: `Bearer ${key}` } });
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
    expect(await offsetOf(begun.body.url, key)).toBe(3_000);
  });

  it('keeps what arrived before its connection broke', async () => {
    const { key } = await bed.newTenant();
    const bytes = randomBytes(2 * MiB);
    const { body } = await begin(key, bytes.length);
    const sending = stall(body.url, key, bytes.subarray(0, MiB), bytes.length);
    await once(sending, 'socket');
    await waitFor('the first bytes have left', async () => sending.writableLength === 0, {
      withinMs: 10_000,
    });
    await waitFor(
      'the gateway stores them',
      async () => {
        sending.destroy();
        return (await offsetOf(body.url, key)) > 0;
      },
      { withinMs: 20_000 },
    );
    const offset = await offsetOf(body.url, key);
    expect(await send(body.url, key, offset, bytes.subarray(offset))).toMatchObject({ status: 204 });
    expect((await call(body.url, key)).body.file.sha256).toBe(sha256(bytes));
  });

  it('refuses a second writer while the first one sends', async () => {
    const { key } = await bed.newTenant();
    const bytes = randomBytes(10 * MiB);
    const { body } = await begin(key, bytes.length);
    const sending = stall(body.url, key, bytes.subarray(0, 9 * MiB), bytes.length);
    await waitFor('a part is stored', async () => (await offsetOf(body.url, key)) === 8 * MiB, {
      withinMs: 20_000,
    });
    const second = await send(`${other.api}/files/uploads/${body.id}`, key, 8 * MiB, bytes.subarray(8 * MiB));
    expect(second).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('Another request'), code: 'upload_busy' },
    });
    sending.end(bytes.subarray(9 * MiB));
    const [response] = await once(sending, 'response');
    response.resume();
    expect(response.statusCode).toBe(204);
    expect((await call(body.url, key)).body.file.sha256).toBe(sha256(bytes));
  });

  it('of bytes that are a file already makes no second one', async () => {
    const { key } = await bed.newTenant();
    const bytes = randomBytes(1_000);
    const file = await call(`${gateway.api}/files`, key, { method: 'POST', body: bytes });
    const { body } = await begin(key, 1_000);
    await send(body.url, key, 0, bytes);
    expect((await call(body.url, key)).body.file.id).toBe(file.body.id);
    const usage = await call(`${gateway.api}/usage`, key);
    expect(usage.body.file_bytes.used).toBe(1_000);
    // What the upload stored is gone, and the file is not.
    const content = await fetch(file.body.url, { headers: { authorization: `Bearer ${key}` } });
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('counts to the quota from its beginning, until it is ended', async () => {
    const { key } = await bed.newTenant();
    const used = async () => (await call(`${gateway.api}/usage`, key)).body.file_bytes.used;
    const { body } = await begin(key, 1_000_000);
    expect(await used()).toBe(1_000_000);
    await send(body.url, key, 0, randomBytes(10));
    expect((await call(body.url, key, { method: 'DELETE' })).status).toBe(204);
    expect(await used()).toBe(0);
    expect((await call(body.url, key)).status).toBe(404);
  });

  it('keeps no file that was deleted', async () => {
    const { key } = await bed.newTenant();
    const { body } = await begin(key, 10);
    await send(body.url, key, 0, randomBytes(10));
    const { file } = (await call(body.url, key)).body;
    await call(`${gateway.api}/files/${file.id}`, key, { method: 'DELETE' });
    expect((await call(body.url, key)).body).toMatchObject({ offset: 10, file: null });
    expect((await call(`${gateway.api}/files/${file.id}`, key)).status).toBe(404);
  });

  it('is refused with words', async () => {
    const [{ key }, stranger] = [await bed.newTenant(), await bed.newTenant()];
    const { body } = await begin(key, 10);
    expect(await send(body.url, key, 5, randomBytes(5))).toMatchObject({
      status: 409,
      body: { detail: 'The upload has 0 bytes: send those that follow' },
    });
    expect((await send(body.url, key, 0, randomBytes(11))).status).toBe(413);
    expect((await send(body.url, stranger.key, 0, randomBytes(10))).status).toBe(404);
    expect((await call(`${gateway.api}/files/uploads/${newUuid()}`, key)).status).toBe(404);
    expect((await begin(key, 1024 ** 4)).status).toBe(413);
    expect((await begin(key, 1, 'filename %%%')).status).toBe(422);
    const json = await call(body.url, key, {
      method: 'PATCH',
      body: '{}',
      headers: { 'upload-offset': '0', 'content-type': 'application/json' },
    });
    expect(json).toMatchObject({
      status: 415,
      body: { detail: 'Send the bytes as application/offset+octet-stream' },
    });
  });
});
