import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rename, rm, truncate, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { ConfigError } from '@runledger/service-kit/config';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGatewayConfig } from '../../../src/config.ts';
import { OutputStoreUnavailable } from '../../../src/files/output-store.ts';
import { openOutputStore } from '../../../src/files/output-stores.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { open as openSocket } from '../../fixtures/requests/raw-request.ts';
import { anAttempt, numbered, upload, uploadUrl } from '../../runs/attempts/an-upload.ts';

const DAY_MS = 86_400_000;

let bed: TestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

/** A directory, removed with its files. */
const aRoot = async (open: AsyncDisposableStack): Promise<string> => {
  const root = await mkdtemp(join(tmpdir(), 'runledger-outputs-'));
  open.defer(() => rm(root, { recursive: true, force: true }));
  return root;
};
const environment = (root: string) => ({
  RUNLEDGER_OUTPUTS: 'directory',
  RUNLEDGER_OUTPUTS_DIRECTORY: root,
  RUNLEDGER_OUTPUTS_KEEP_DAYS: '10',
});
const aStore = (root: string, days = 0) => {
  const now = () => new Date(Date.now() + days * DAY_MS);
  const required = { NATS_URL: 'nats://127.0.0.1:1', RUNLEDGER_SECRET_KEYS: `${'A'.repeat(43)}=` };
  const config = readGatewayConfig({ ...required, ...environment(root) });
  return openOutputStore(config, { log: bed.log, logger: silentLogger, now }).store;
};
const files = async (root: string): Promise<string[]> =>
  (await readdir(root, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();
const anOutput = () => ({
  key: randomBytes(32).toString('base64url'),
  filename: 'a.png',
  content_type: 'image/png',
});
async function* body(bytes = numbered(1_000)): AsyncGenerator<Uint8Array> {
  yield bytes;
}

describe('output files in a directory', () => {
  it('expire after the configured days, and are removed by the next gateway that starts', async () => {
    await using open = new AsyncDisposableStack();
    const root = await aRoot(open);
    const store = open.use(aStore(root));
    const { key } = await store.put(anOutput(), body());
    const sooner = open.use(aStore(root, 9.9));
    expect(await sooner.find(key)).toBeDefined();
    const later = open.use(aStore(root, 10.1));
    expect(await later.find(key)).toBeUndefined();
    await waitFor('the file to be removed', async () => (await files(root)).length === 0);
    expect(await store.find(key)).toBeUndefined();
  });

  it('are removed a day later when a crashed gateway left them incomplete', async () => {
    await using open = new AsyncDisposableStack();
    const root = await aRoot(open);
    for (const [name, days] of [
      ['old', 1.1],
      ['new', 0.9],
    ] as const) {
      const folder = join(root, 'incoming', name);
      await mkdir(folder, { recursive: true });
      await utimes(folder, new Date(), new Date(Date.now() - days * DAY_MS));
    }
    open.use(aStore(root));
    await waitFor('the old one to be removed', async () => {
      const left = await readdir(join(root, 'incoming'));
      return left.length === 1 && left[0] === 'new';
    });
  });

  it('cannot be stored, read or removed while the directory is missing, and are readable when it is back', async () => {
    await using open = new AsyncDisposableStack();
    const root = await aRoot(open);
    const store = open.use(aStore(root));
    const stored = await store.put(anOutput(), body());
    await rename(root, `${root}-away`);
    await expect(store.put(anOutput(), body())).rejects.toThrow(OutputStoreUnavailable);
    await expect(store.find(stored.key)).rejects.toThrow(OutputStoreUnavailable);
    await expect(store.remove(stored.key)).rejects.toThrow(OutputStoreUnavailable);
    const reading = store.read(stored, { first: 0, last: 9 })[Symbol.asyncIterator]();
    await expect(reading.next()).rejects.toThrow(OutputStoreUnavailable);
    await rename(`${root}-away`, root);
    expect(await store.find(stored.key)).toEqual(stored);
  });

  it('are not served when they are damaged', async () => {
    await using open = new AsyncDisposableStack();
    const root = await aRoot(open);
    const store = open.use(aStore(root));
    const stored = await store.put(anOutput(), body());
    await truncate(join(root, stored.key.slice(0, 2), stored.key, 'content'), 500);
    await expect(store.find(stored.key)).rejects.toThrow(/is damaged/);
    const reading = store.read(stored, { first: 0, last: 999 })[Symbol.asyncIterator]();
    await reading.next();
    await expect(reading.next()).rejects.toThrow(/shorter than it was/);
  });

  it('need a setting that names the directory', () => {
    const { RUNLEDGER_OUTPUTS } = environment('');
    const required = { NATS_URL: 'nats://127.0.0.1:1', RUNLEDGER_SECRET_KEYS: `${'A'.repeat(43)}=` };
    const config = readGatewayConfig({ ...required, RUNLEDGER_OUTPUTS });
    const parts = { log: bed.log, logger: silentLogger, now: () => new Date() };
    expect(() => openOutputStore(config, parts)).toThrow(ConfigError);
    expect(() => openOutputStore(config, parts)).toThrow(/RUNLEDGER_OUTPUTS_DIRECTORY is not set/);
  });
});

describe('a gateway that keeps output files in a directory', { timeout: 30_000 }, () => {
  it('stores them for executors, replaces them, and serves them in ranges', async () => {
    await using open = new AsyncDisposableStack();
    const root = await aRoot(open);
    const gateway = await bed.gateway({ environment: environment(root) });
    const other = await bed.gateway({ environment: environment(root) });
    const attempt = await anAttempt(bed, gateway);
    await upload(gateway, attempt, numbered(10), { filename: 'a.png' });
    const { status, body: file } = await upload(gateway, attempt, numbered(300_000), { filename: 'a.png' });
    expect([status, file.bytes]).toEqual([201, 300_000]);
    expect(await files(root)).toEqual(['content', 'description.json']);
    const url = `${other.url}/outputs/${file.key}/a.png`;
    const whole = await fetch(url);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': '300000',
      etag: `"${file.sha256}"`,
    });
    expect(Buffer.compare(Buffer.from(await whole.arrayBuffer()), numbered(300_000))).toBe(0);
    const part = await fetch(url, { headers: { range: 'bytes=131071-131072' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 131071-131072/300000']);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(
      Buffer.from(numbered(300_000).subarray(131_071, 131_073)),
    );
    expect((await fetch(url, { headers: { range: 'bytes=300000-' } })).status).toBe(416);
    expect((await fetch(`${other.url}/outputs/${'a'.repeat(43)}/a.png`)).status).toBe(404);
    expect((await fetch(`${other.url}/outputs/..%2f..%2fetc/passwd`)).status).toBe(404);
  });

  it('keeps nothing of an interrupted upload', async () => {
    await using open = new AsyncDisposableStack();
    const root = await aRoot(open);
    const gateway = await bed.gateway({ environment: environment(root) });
    const attempt = await anAttempt(bed, gateway);
    const { pathname, search } = new URL(uploadUrl(gateway, attempt));
    const socket = openSocket(gateway.url);
    socket.write(
      `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attempt.token}\r\nContent-Length: 1000000\r\n\r\n`,
    );
    socket.write(numbered(200_000));
    await waitFor('it to be on its way', async () => (await files(root)).length === 1);
    socket.destroy();
    await waitFor('its removal', async () => (await files(root)).length === 0);
    expect((await upload(gateway, attempt, numbered(10))).status).toBe(201);
  });

  it('answers 503 while the directory is missing', async () => {
    await using open = new AsyncDisposableStack();
    const root = await aRoot(open);
    const gateway = await bed.gateway({ environment: environment(join(root, 'not-mounted')) });
    const attempt = await anAttempt(bed, gateway);
    const refused = await upload(gateway, attempt, numbered(10));
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { detail: expect.stringContaining('store of output files'), code: 'output_store_unavailable' },
    ]);
    expect((await fetch(`${gateway.url}/outputs/${'a'.repeat(43)}/a.png`)).status).toBe(503);
    expect(await files(root)).toEqual([]);
  });
});
