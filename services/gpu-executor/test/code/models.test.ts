import { createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { executorId } from '@runledger/contracts/ids';
import { aRun, assigned } from '@runledger/testing/run-events';
import { testBucket } from '@runledger/testing/servers/s3';
import { waitFor } from '@runledger/testing/wait-for';
import { AwsClient } from 'aws4fetch';
import { callbackPolicy } from '@runledger/webhooks/callback-policy';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { describe, expect, it, onTestFinished } from 'vitest';
import { prepareModels } from '../../src/code/models.ts';
import { openPreparedFolders } from '../../src/code/prepared-folders.ts';
import type { FetchKeptModel } from '../../src/runners/runner.ts';
import { openAttemptGateway } from '../../src/transfer/attempt-gateway.ts';
import { modelFetcher } from '../../src/transfer/fetch-stored.ts';
import { openUrlFetcher } from '../../src/transfer/fetch-url.ts';
import { NO_CODE } from '../fixtures/no-code.ts';
import { ORG_ID, OTHER_ORG_ID } from '../fixtures/isolations.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const NO_KEPT: FetchKeptModel = NO_CODE;
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

/** Of a run whose gateway is at the address. */
const keptModelsOf = (url: string): FetchKeptModel => {
  const key = aRun();
  const event = assigned(key);
  const assignment = {
    ...key,
    attempt: 1,
    executor_id: executorId(event.executor_id ?? ''),
    event,
    startWithinS: 60,
  };
  const signAttempt = async (): Promise<string> => 'token';
  const settings = { gateway: new URL(url), signAttempt, log: silentLogger };
  return modelFetcher(settings, openAttemptGateway(settings, assignment));
};

const openModels = ({ allow = ['loopback'], maxBytes = 1e9, fetchKeptModel = NO_KEPT } = {}) => {
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
    const run = { org_id, manifest, secrets, folders, fetchKeptModel, onStep, stop };
    const prepared = await prepareModels(fetchUrl, run);
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

describe('models that the gateway keeps', () => {
  const kept = { sha256: SHA256, bytes: BYTES.byteLength };

  it('are fetched once for two runs, with the way of one of them', async () => {
    const paths: (string | undefined)[] = [];
    const { url, asked } = await aServer((request, response, tries) => {
      paths.push(request.url?.split('/').slice(-2).join('/'), request.headers.authorization);
      sends(request, response, tries);
    });
    const { prepare, steps } = openModels({ fetchKeptModel: keptModelsOf(new URL(url).origin) });
    const runs = await Promise.all([prepare({ 'a.bin': kept }), prepare({ 'b.bin': kept })]);
    const folders = runs.map(readyFolder);
    expect(readFileSync(join(folders[0] ?? '', 'a.bin')).equals(BYTES)).toBe(true);
    expect(asked).toEqual([[undefined, undefined]]);
    expect(paths).toEqual([`models/${SHA256}`, 'Bearer token']);
    expect(steps[0]).toMatch(/^fetching [ab]\.bin$/);
    // The same file by another way.
    readyFolder(await prepare({ 'c.bin': { url: 'http://127.0.0.1:1/gone', sha256: SHA256 } }));
    expect(asked).toHaveLength(1);
  });

  it('are continued where the connection broke, and where a killed executor was', async () => {
    const waiting = new Set<() => boolean>();
    const { url, asked } = await aServer((request, response, tries) => {
      if (tries > 1) return sends(request, response, tries);
      response.writeHead(206, { 'content-length': BYTES.byteLength - 1_000_000, etag: `"${SHA256}"` });
      response.write(BYTES.subarray(1_000_000, 2_000_000));
      const isThere = () => [...waiting].every((each) => each());
      void waitFor('the part', isThere).finally(() => request.socket.destroy());
    });
    const models = openModels({ fetchKeptModel: keptModelsOf(new URL(url).origin) });
    waiting.add(() => bytesAt(models.part) === 2_000_000);
    mkdirSync(models.parts, { recursive: true });
    writeFileSync(models.part, BYTES.subarray(0, 1_000_000));
    const folder = readyFolder(await models.prepare({ 'a.bin': kept }));
    expect(sha256Of(readFileSync(join(folder, 'a.bin')))).toBe(SHA256);
    expect(asked.map(([range]) => range)).toEqual(['bytes=1000000-', 'bytes=2000000-']);
  });

  it.each([
    ['is of another file', Buffer.alloc(1_000), ['bytes=1000-', undefined]],
    ['is longer than the file', Buffer.alloc(BYTES.byteLength + 1), [undefined]],
  ])('are fetched anew when the part that is there %s', async (_, left, ranges) => {
    const { url, asked } = await aServer();
    const models = openModels({ fetchKeptModel: keptModelsOf(new URL(url).origin) });
    mkdirSync(models.parts, { recursive: true });
    writeFileSync(models.part, left);
    const folder = readyFolder(await models.prepare({ 'a.bin': kept }));
    expect(sha256Of(readFileSync(join(folder, 'a.bin')))).toBe(SHA256);
    expect(asked.map(([range]) => range)).toEqual(ranges);
  });

  it('that arrive with another hash, or are lost, are not prepared', async () => {
    const { url } = await aServer();
    const other = openModels({ fetchKeptModel: keptModelsOf(new URL(url).origin) });
    const wrong = { sha256: '0'.repeat(64), bytes: BYTES.byteLength };
    const why = `should be ${wrong.sha256} and is ${SHA256}. Deploy the folder again`;
    expect(await other.prepare({ 'a.bin': wrong })).toMatchObject(failure(why, false));
    expect(readdirSync(other.parts)).toEqual([]);
    const detail = 'The model is lost.';
    const lost = await aServer((_request, response) => {
      response.writeHead(410, { 'content-type': 'application/json' }).end(JSON.stringify({ detail }));
    });
    const gone = openModels({ fetchKeptModel: keptModelsOf(new URL(lost.url).origin) });
    expect(await gone.prepare({ 'a.bin': kept })).toMatchObject(failure(detail, false));
  });
});
const TOKEN = 'hf_a-secret-value';
const HEADERS = { Authorization: 'Bearer ${HF_TOKEN}', 'X-Plain': 'a' };

describe('a model with headers', () => {
  it('is asked for with them, also when it is continued, and another origin does not get them', async () => {
    const seen: unknown[] = [];
    const elsewhere = await aServer((request, response, tries) => {
      seen.push(['elsewhere', request.headers.authorization, request.headers['x-plain']]);
      sends(request, response, tries);
    });
    const origin = await aServer((request, response) => {
      seen.push([request.url, request.headers.authorization, request.headers['x-plain']]);
      const location = request.url === '/weights.bin' ? '/moved.bin' : elsewhere.url;
      response.writeHead(302, { location }).end();
    });
    const { prepare } = openModels();
    const models = { 'a.bin': { url: origin.url, sha256: SHA256, headers: HEADERS } };
    readyFolder(await prepare(models, { secrets: { HF_TOKEN: TOKEN } }));
    expect(seen).toEqual([
      ['/weights.bin', `Bearer ${TOKEN}`, 'a'],
      ['/moved.bin', `Bearer ${TOKEN}`, 'a'],
      ['elsewhere', undefined, undefined],
    ]);
  });

  it('is asked for without them once a redirect led to another origin, also back at the first one', async () => {
    const seen: unknown[] = [];
    const back = { url: '' };
    const elsewhere = await aServer((_request, response) =>
      response.writeHead(302, { location: back.url }).end(),
    );
    const origin = await aServer((request, response, tries) => {
      seen.push([request.url, request.headers.authorization]);
      if (request.url === '/back.bin') return sends(request, response, tries);
      response.writeHead(302, { location: elsewhere.url }).end();
    });
    back.url = origin.url.replace('weights', 'back');
    const { prepare } = openModels();
    const models = { 'a.bin': { url: origin.url, sha256: SHA256, headers: HEADERS } };
    readyFolder(await prepare(models, { secrets: { HF_TOKEN: TOKEN } }));
    expect(seen).toEqual([
      ['/weights.bin', `Bearer ${TOKEN}`],
      ['/back.bin', undefined],
    ]);
  });

  it('that its server refuses says what to check, and never the value', async () => {
    const { url } = await aServer((_request, response) => response.writeHead(401).end());
    const { prepare } = openModels();
    const model = { url, sha256: SHA256 };
    const secrets = { HF_TOKEN: TOKEN };
    const refused = await prepare({ 'a.bin': { ...model, headers: HEADERS } }, { secrets });
    expect(refused).toEqual(failure('answered 401. Check its headers (Authorization, X-Plain)', false));
    expect(await prepare({ 'a.bin': model })).toEqual(failure('give the model headers = {', false));
    const broken = await prepare(
      { 'a.bin': { ...model, headers: HEADERS } },
      { secrets: { HF_TOKEN: `${TOKEN}\n` } },
    );
    expect(broken).toEqual(failure('The header Authorization of the model a.bin cannot be sent', false));
    expect(JSON.stringify([refused, broken])).not.toContain(TOKEN);
  });
});

describe('a model in S3', () => {
  /** Asks for it through a server that keeps what it was asked, and can end an answer early. */
  const aStore = async (endsAt?: number) => {
    const store = await testBucket();
    const key = `${store.prefix}a b+c/ä(1)'!*.bin`;
    const at = `${store.endpoint}/${store.bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
    const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = store;
    const client = new AwsClient({ accessKeyId, secretAccessKey, region: 'us-east-1', service: 's3' });
    expect((await client.fetch(at, { method: 'PUT', body: BYTES })).status).toBe(200);
    const asked: IncomingMessage['headers'][] = [];
    const front = await aServer((request, response, tries) => {
      asked.push(request.headers);
      const { hostname, port } = new URL(endpoint);
      const { headers, url: path } = request;
      const onAnswer = (answer: IncomingMessage): void => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        if (tries > 1 || endsAt === undefined) return void answer.pipe(response);
        let sent = 0;
        answer.on('data', (piece: Buffer) => {
          const part = piece.subarray(0, endsAt - sent);
          sent += part.byteLength;
          response.write(part, () => sent === endsAt && setTimeout(() => request.socket.destroy(), 50));
        });
      };
      httpRequest({ hostname, port, path, headers }, onAnswer).end();
    });
    const url = `s3://${store.bucket}/${key}`;
    const env = { AWS_ENDPOINT_URL_S3: new URL(front.url).origin, AWS_REGION: 'us-east-1' };
    const secrets = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    return { url, env, secrets, asked, front };
  };

  it('is asked for with a signature of its own for each part', async () => {
    const { url, env, secrets, asked } = await aStore(1_000_000);
    const { prepare } = openModels();
    const folder = readyFolder(await prepare({ 'a.bin': { url, sha256: SHA256 } }, { env, secrets }));
    expect(sha256Of(readFileSync(join(folder, 'a.bin')))).toBe(SHA256);
    expect(asked.map(({ range }) => range)).toEqual([undefined, 'bytes=1000000-']);
    for (const { authorization = '' } of asked)
      expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=.*\/us-east-1\/s3\/aws4_request, /);
  });

  it('is signed as the store computes it, with a session and a key with any characters', async () => {
    // Moto takes any signature: this server checks it, with the same headers and its own canonical request.
    const wrong: string[] = [];
    const secretAccessKey = 'a-secret-of-s3';
    const server = await aServer((request, response, tries) => {
      if (signatureOf(request, secretAccessKey) !== request.headers.authorization) wrong.push('signature');
      if (request.headers['x-amz-security-token'] !== 'session') wrong.push('session');
      sends(request, response, tries);
    });
    const { prepare } = openModels();
    const env = { AWS_ENDPOINT_URL_S3: new URL(server.url).origin, AWS_REGION: 'eu-central-1' };
    const secrets = {
      AWS_ACCESS_KEY_ID: 'AKID',
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: 'session',
    };
    const url = "s3://weights/a b+c/ä(1)'!*~.bin";
    readyFolder(await prepare({ 'a.bin': { url, sha256: SHA256 } }, { env, secrets }));
    expect([wrong, server.asked.length]).toEqual([[], 1]);
  });

  it('is asked for without a signature where there are no keys, and under the policy for addresses', async () => {
    const { url, env, asked } = await aStore();
    const { prepare } = openModels();
    const model = { 'a.bin': { url, sha256: SHA256 } };
    await prepare(model, { env });
    expect(asked.map(({ authorization }) => authorization)).toEqual([undefined]);
    const forbidden = await openModels({ allow: [] }).prepare(model, { env });
    expect(forbidden).toEqual(failure('cannot be fetched', false));
    expect(asked).toHaveLength(1);
  });

  it('says what is missing of its variables', async () => {
    const { prepare } = openModels();
    const model = { 'a.bin': { url: 's3://weights/a', sha256: SHA256 } };
    expect(await prepare(model, { secrets: { AWS_ACCESS_KEY_ID: 'a' } })).toEqual(
      failure('only one of the variables', false),
    );
    expect(await prepare(model, { env: { AWS_ENDPOINT_URL_S3: 'minio:9000' } })).toEqual(
      failure('AWS_ENDPOINT_URL_S3 of the version is no http or https URL', false),
    );
  });
});

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
const signatureOf = ({ url = '', headers }: IncomingMessage, secret: string): string => {
  const stamp = String(headers['x-amz-date']);
  const day = stamp.slice(0, 8);
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const said = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const payload = String(headers['x-amz-content-sha256']);
  const canonical = ['GET', url, '', said.join(''), names, payload].join('\n');
  const scope = `${day}/eu-central-1/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', stamp, scope, sha256Of(Buffer.from(canonical))].join('\n');
  const hmac = (key: string | Buffer, data: string): Buffer =>
    createHmac('sha256', key).update(data).digest();
  const key = scope.split('/').reduce<string | Buffer>((above, part) => hmac(above, part), `AWS4${secret}`);
  const signature = hmac(key, text).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=AKID/${scope}, SignedHeaders=${names}, Signature=${signature}`;
};
