import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { waitFor } from '@runledger/testing/wait-for';
import { callbackPolicy } from '@runledger/webhooks/callback-policy';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { describe, expect, it, onTestFinished } from 'vitest';
import { prepareModels } from '../../src/code/models.ts';
import { openPreparedFolders } from '../../src/code/prepared-folders.ts';
import { openUrlFetcher } from '../../src/transfer/fetch-url.ts';
import { ORG_ID, OTHER_ORG_ID } from '../fixtures/isolations.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const BYTES = randomBytes(3_000_000);
const SHA256 = sha256Of(BYTES);

type Sends = (request: IncomingMessage, response: ServerResponse, tries: number) => void;

/** Sends what a `Range` asks for, as servers of weights do. */
const sends: Sends = (request, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const range = { 'content-range': `bytes ${from}-${BYTES.byteLength - 1}/${BYTES.byteLength}` };
  const length = { 'content-length': BYTES.byteLength - from, etag: '"weights"' };
  response
    .writeHead(from === 0 ? 200 : 206, { ...length, ...(from === 0 ? {} : range) })
    .end(BYTES.subarray(from));
};

/** A server of weights, and the ranges and conditions that it was asked for. */
const aServer = async (answer: Sends = sends) => {
  const asked: (readonly [range: string | undefined, ifRange: unknown])[] = [];
  const server = createServer((request, response) => {
    asked.push([request.headers.range, request.headers['if-range']]);
    answer(request, response, asked.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: `http://127.0.0.1:${address.port}/weights.bin`, asked };
};

interface PrepareOptions {
  readonly org_id?: string;
  readonly stop?: AbortSignal;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

const openModels = ({ allow = ['loopback'], maxBytes = 1e9 } = {}) => {
  const resolver = nameResolver({ servers: ['127.0.0.1:1'], clock: () => performance.now() });
  onTestFinished(() => resolver[Symbol.dispose]());
  const policy = callbackPolicy({ allow, ports: [80, 443], ownServices: [] });
  const fetchUrl = openUrlFetcher({ policy, resolver, proxy: undefined, withinMs: 20_000, maxTries: 2 });
  const workFolder = temporaryFolder();
  const folders = openPreparedFolders({ workFolder, maxBytes, log: silentLogger });
  const steps: string[] = [];
  const prepare = async (
    models: NonNullable<CodeManifest['models']>,
    { org_id = ORG_ID, stop = new AbortController().signal, secrets = {}, env = {} }: PrepareOptions = {},
  ) => {
    const manifest = { code_sha256: SHA256, command: ['true'], models, env };
    const onStep = (step: string) => void steps.push(step);
    const prepared = await prepareModels(fetchUrl, { org_id, manifest, secrets, folders, onStep, stop });
    if (prepared.kind === 'prepared') onTestFinished(() => prepared[Symbol.dispose]());
    return prepared;
  };
  const parts = join(workFolder, 'prepared-parts', ORG_ID);
  const store = join(workFolder, 'prepared', ORG_ID, 'models');
  return { prepare, parts, store, part: join(parts, SHA256), steps };
};

const readyFolder = (prepared: Awaited<ReturnType<typeof prepareModels>>): string => {
  expect(prepared).toMatchObject({ kind: 'prepared' });
  return prepared.kind === 'prepared' ? prepared.path : '';
};

const failure = (message: string, retryable: boolean) => ({
  kind: 'failed',
  error: { kind: 'prepare_failed', message: expect.stringContaining(message), retryable },
});

const bytesAt = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

describe('the models of a version', () => {
  it('are a folder with their paths, and are fetched and stored once for an organisation', async () => {
    const { url, asked } = await aServer();
    const { prepare, store, steps } = openModels();
    const prepared = await prepare({
      'vae/a.bin': { url, sha256: SHA256 },
      'b.bin': { url, sha256: SHA256 },
    });
    const folder = readyFolder(prepared);
    for (const path of ['vae/a.bin', 'b.bin']) {
      expect(readFileSync(join(folder, path)).equals(BYTES)).toBe(true);
      expect(statSync(join(folder, path)).mode & 0o777).toBe(0o444);
    }
    expect(prepared).toMatchObject({ folders: [folder, join(store, SHA256), join(store, SHA256)] });
    expect(steps[0]).toBe('fetching b.bin');
    // Another version, with another path and another address.
    const other = readyFolder(await prepare({ 'c.bin': { url: 'http://127.0.0.1:1/gone', sha256: SHA256 } }));
    expect(readdirSync(other)).toEqual(['c.bin']);
    expect(asked).toEqual([[undefined, undefined]]);
    readyFolder(await prepare({ 'c.bin': { url, sha256: SHA256 } }, { org_id: OTHER_ORG_ID }));
    expect(asked).toHaveLength(2);
  });

  it('are continued where the connection broke', async () => {
    const models = openModels();
    const { url, asked } = await aServer((request, response, tries) => {
      if (tries > 1) return sends(request, response, tries);
      response.writeHead(200, { 'content-length': BYTES.byteLength, etag: '"weights"' });
      response.write(BYTES.subarray(0, 1_000_000));
      const isThere = () => bytesAt(models.part) === 1_000_000;
      void waitFor('the part', isThere).finally(() => request.socket.destroy());
    });
    const folder = readyFolder(await models.prepare({ 'a.bin': { url, sha256: SHA256 } }));
    expect(sha256Of(readFileSync(join(folder, 'a.bin')))).toBe(SHA256);
    expect(asked).toEqual([
      [undefined, undefined],
      ['bytes=1000000-', '"weights"'],
    ]);
  });

  it.each([
    ['the rest of it is fetched', BYTES.subarray(0, 2_000_000), [['bytes=2000000-', undefined]]],
    ['nothing is fetched when all had arrived', BYTES, []],
    [
      'it is fetched anew when it is of another file',
      Buffer.alloc(1_000),
      [
        ['bytes=1000-', undefined],
        [undefined, undefined],
      ],
    ],
  ])('of which an executor that was killed has left a part: %s', async (_, left, expected) => {
    const { url, asked } = await aServer();
    const { prepare, parts, part } = openModels();
    mkdirSync(parts, { recursive: true });
    writeFileSync(part, left);
    const folder = readyFolder(await prepare({ 'a.bin': { url, sha256: SHA256 } }));
    expect(sha256Of(readFileSync(join(folder, 'a.bin')))).toBe(SHA256);
    expect(asked).toEqual(expected);
  });

  it('are fetched by one of two runs that need them, and by the other one when that is stopped', async () => {
    const models = openModels();
    const half = Promise.withResolvers<void>();
    const { url, asked } = await aServer((request, response, tries) => {
      if (tries > 1) return sends(request, response, tries);
      response.writeHead(200, { 'content-length': BYTES.byteLength, etag: '"weights"' });
      response.write(BYTES.subarray(0, 1_000_000));
      void waitFor('the part', () => bytesAt(models.part) === 1_000_000).then(
        () => half.resolve(),
        half.reject,
      );
    });
    const stopping = new AbortController();
    const first = models.prepare({ 'a.bin': { url, sha256: SHA256 } }, { stop: stopping.signal });
    await half.promise;
    const others = [1, 2].map((n) => models.prepare({ [`${n}.bin`]: { url, sha256: SHA256 } }));
    stopping.abort();
    expect(await first).toEqual({ kind: 'stopped' });
    for (const other of others) readyFolder(await other);
    expect(asked).toEqual([
      [undefined, undefined],
      ['bytes=1000000-', undefined],
    ]);
  });

  it('with another hash are not taken, and nothing of them stays', async () => {
    const { url } = await aServer();
    const { prepare, store, parts } = openModels();
    const promised = '0'.repeat(64);
    const why = `its SHA-256 should be ${promised} and is ${SHA256}`;
    expect(await prepare({ 'a.bin': { url, sha256: promised } })).toMatchObject(failure(why, false));
    expect([readdirSync(store), readdirSync(parts)]).toEqual([[], []]);
  });

  it.each([
    [404, false, 1],
    [403, false, 1],
    [503, true, 2],
  ])('that are answered with %s may be there another time: %s', async (status, retryable, tries) => {
    const { url, asked } = await aServer((_request, response) => void response.writeHead(status).end());
    const { prepare } = openModels();
    const why = `The model a.bin cannot be fetched: ${new URL(url).host} answered ${status}.`;
    expect(await prepare({ 'a.bin': { url, sha256: SHA256 } })).toMatchObject(failure(why, retryable));
    expect(asked).toHaveLength(tries);
  });

  it('are not fetched from where the policy does not allow it', async () => {
    const { url, asked } = await aServer();
    const { prepare } = openModels({ allow: [] });
    expect(await prepare({ 'a.bin': { url, sha256: SHA256 } })).toMatchObject(failure('not public', false));
    expect(asked).toEqual([]);
  });

  it('have a limit of bytes together', async () => {
    const { url } = await aServer();
    const maxBytes = BYTES.byteLength + 1;
    const { prepare } = openModels({ maxBytes });
    const models = { 'a.bin': { url, sha256: SHA256 }, 'b.bin': { url, sha256: '0'.repeat(64) } };
    expect(await prepare(models)).toMatchObject(failure(`more than ${maxBytes} bytes`, false));
    const nested = { a: { url, sha256: SHA256 }, 'a/b': { url, sha256: SHA256 } };
    expect(await prepare(nested)).toMatchObject(failure('a/b is below a', false));
  });
});
