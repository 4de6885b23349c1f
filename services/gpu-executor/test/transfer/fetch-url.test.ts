import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { stubDns, type StubDns } from '@runledger/testing/stand-ins/stub-dns';
import { waitFor } from '@runledger/testing/wait-for';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { callbackPolicy } from '@runledger/webhooks/callback-policy';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openUrlFetcher } from '../../src/transfer/fetch-url.ts';
import { inputFile } from '../../src/transfer/input-file.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

let dns: StubDns;
beforeAll(async () => {
  dns = await stubDns();
});
afterAll(() => dns[Symbol.asyncDispose]());

const BYTES = randomBytes(50_000);

/** The port of a server, and the paths that were requested. */
const aServer = async (answer: RequestListener) => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { port: address.port, paths };
};

interface Options {
  readonly allow?: readonly string[];
  readonly ownServices?: readonly string[];
  readonly maxBytes?: number;
  readonly withinMs?: number;
  readonly stop?: AbortSignal;
  readonly path?: string;
}

const fetch = async (url: string, options: Options = {}) => {
  const { allow = ['pictures.example'], ownServices = [], maxBytes = 1_000_000, withinMs = 20_000 } = options;
  const resolver = nameResolver({ servers: [dns.server], clock: () => performance.now() });
  onTestFinished(() => resolver[Symbol.dispose]());
  const policy = callbackPolicy({ allow, ports: [80, 443], ownServices });
  const fetchUrl = openUrlFetcher({ policy, resolver, proxy: undefined, withinMs, maxTries: 3 });
  const { path = join(temporaryFolder(), 'file') } = options;
  const stop = options.stop ?? new AbortController().signal;
  const fetched = await fetchUrl(url, inputFile('photo', path, maxBytes), stop);
  return { fetched, saved: () => readFileSync(path), isThere: () => existsSync(path) };
};

const sends: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' }).end(BYTES);
};
const redirectsTo =
  (location: (port: number) => string, then: RequestListener = sends): RequestListener =>
  (request, response) => {
    if (request.url !== '/') return then(request, response);
    response.writeHead(302, { location: location(request.socket.localPort ?? 0) }).end();
  };

const refused = (why: string | RegExp, retryable: boolean) => ({
  kind: 'refused',
  error: { kind: 'input_unavailable', message: expect.stringMatching(why), retryable },
});

describe('the file of a URL', () => {
  it('is saved, with the name in its address and its type', async () => {
    dns.set('pictures.example', ['127.0.0.1']);
    const { port } = await aServer(sends);
    const { fetched, saved } = await fetch(`http://pictures.example:${port}/a/photo.png?size=2`);
    expect(fetched).toEqual({
      kind: 'fetched',
      bytes: 50_000,
      filename: 'photo.png',
      content_type: 'image/png',
    });
    expect(saved().equals(BYTES)).toBe(true);
  });

  it('is found behind a redirect that the policy allows', async () => {
    dns.set('pictures.example', ['127.0.0.1']);
    const { port, paths } = await aServer(redirectsTo(() => '/other.webp'));
    const { fetched } = await fetch(`http://pictures.example:${port}/`);
    expect(fetched).toMatchObject({ kind: 'fetched', filename: 'other.webp' });
    expect(paths).toEqual(['/', '/other.webp']);
  });

  it.each([
    'http://127.0.0.1/x',
    'http://10.0.0.7/x',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/x',
    'http://[::ffff:127.0.0.1]/x',
    'http://localhost/x',
    'file:///etc/passwd',
    'http://user:password@pictures.example/x',
  ])('is not fetched from %s', async (url) => {
    expect((await fetch(url)).fetched).toMatchObject(refused('photo', false));
  });

  it('is not fetched behind a redirect to a private address', async () => {
    dns.set('pictures.example', ['127.0.0.1']);
    const inside = await aServer(sends);
    const { port } = await aServer(redirectsTo(() => `http://127.0.0.1:${inside.port}/secret`));
    const { fetched, isThere } = await fetch(`http://pictures.example:${port}/`);
    expect(fetched).toMatchObject(
      refused(
        `pictures.example:${port} redirects to a URL that the policy for addresses does not allow`,
        false,
      ),
    );
    expect(JSON.stringify(fetched)).not.toContain('127.0.0.1');
    expect([inside.paths, isThere()]).toEqual([[], false]);
  });

  it('is not fetched when its name has a private address by now', async () => {
    dns.set('public.example', ['93.184.216.34']);
    dns.set('public.example', ['93.184.216.34', '10.0.0.7']);
    const { fetched } = await fetch('http://public.example/x');
    expect(fetched).toMatchObject(refused('public.example has an address that is not public', false));
    expect(JSON.stringify(fetched)).not.toContain('10.0.0.7');
  });

  it('is not fetched from a service of Runledger, also where the policy allows more', async () => {
    const { port, paths } = await aServer(sends);
    const { fetched } = await fetch(`http://127.0.0.1:${port}/`, {
      allow: ['loopback'],
      ownServices: [`127.0.0.1:${port}`],
    });
    expect(fetched).toMatchObject(refused('a service of Runledger itself', false));
    expect(paths).toEqual([]);
  });

  it.each(['http://127.0.0.1/x', 'http://inner.example/x'])(
    'is refused in the same words when %s is a service of Runledger and when it is not',
    async (url) => {
      dns.set('inner.example', ['127.0.0.1']);
      const { fetched } = await fetch(url, { ownServices: ['127.0.0.1:80'] });
      expect(fetched).toMatchObject(refused('not public', false));
      expect(fetched).toEqual((await fetch(url)).fetched);
    },
  );

  it('is not fetched further than the limit of bytes, announced or not', async () => {
    const announced = await aServer(sends);
    const chunked = await aServer((_request, response) => {
      response.writeHead(200);
      response.write(BYTES);
      response.end(BYTES);
    });
    for (const { port } of [announced, chunked]) {
      const options = { allow: ['loopback'], maxBytes: 49_999 };
      const { fetched } = await fetch(`http://127.0.0.1:${port}/`, options);
      expect(fetched).toMatchObject(refused('more than 49999 bytes.*EXECUTOR_INPUT_MAX_BYTES', false));
    }
  });

  it.each([
    [404, false, 1],
    [403, false, 1],
    [304, false, 1],
    [503, true, 3],
    [429, true, 3],
  ])('that is answered with %s may be tried again: %s', async (status, retryable, tries) => {
    const { port, paths } = await aServer((_request, response) => void response.writeHead(status).end());
    const { fetched } = await fetch(`http://127.0.0.1:${port}/`, { allow: ['loopback'] });
    expect(fetched).toMatchObject(refused(`127.0.0.1:${port} answered ${status}`, retryable));
    expect(paths).toHaveLength(tries);
  });

  it('is tried again when its server fails in the middle', async () => {
    let tries = 0;
    const { port } = await aServer((request, response) => {
      tries += 1;
      if (tries > 1) return sends(request, response);
      response.writeHead(200, { 'content-length': '50000' });
      response.write(BYTES.subarray(0, 100), () => request.socket.destroy());
    });
    const { fetched, saved } = await fetch(`http://127.0.0.1:${port}/`, { allow: ['loopback'] });
    expect(fetched).toMatchObject({ kind: 'fetched', bytes: 50_000 });
    expect(saved().equals(BYTES)).toBe(true);
  });

  it.each([
    ['continued where its server stopped', '"a"', '"a"', 'bytes=30000-'],
    ['begun anew when it is another one by now', '"a"', '"b"', 'bytes=30000-'],
    ['begun anew when nothing says that it is the same one', undefined, undefined, undefined],
    ['begun anew when it may only look the same', 'W/"a"', 'W/"a"', undefined],
  ])('is %s', async (_, before, after, range) => {
    const ranges: unknown[] = [];
    const path = join(temporaryFolder(), 'file');
    const { port } = await aServer((request, response) => {
      ranges.push(request.headers.range);
      const etag = ranges.length === 1 ? before : after;
      const headers = etag === undefined ? {} : { etag };
      if (ranges.length === 1) {
        response.writeHead(200, { ...headers, 'content-length': 50_000 });
        response.write(BYTES.subarray(0, 30_000));
        const isThere = () => existsSync(path) && statSync(path).size === 30_000;
        void waitFor('the part', isThere).finally(() => request.socket.destroy());
      } else if (request.headers['if-range'] === etag && etag !== undefined)
        response
          .writeHead(206, { ...headers, 'content-range': 'bytes 30000-49999/50000' })
          .end(BYTES.subarray(30_000));
      else response.writeHead(200, headers).end(BYTES);
    });
    const { fetched, saved } = await fetch(`http://127.0.0.1:${port}/`, { allow: ['loopback'], path });
    expect(fetched).toMatchObject({ kind: 'fetched', bytes: 50_000 });
    expect(saved().equals(BYTES)).toBe(true);
    expect(ranges).toEqual([undefined, range]);
  });

  it('is given up after the limit of time, and after too many redirects', async () => {
    const silent = await aServer(() => undefined);
    const late = await fetch(`http://127.0.0.1:${silent.port}/`, { allow: ['loopback'], withinMs: 200 });
    expect(late.fetched).toMatchObject(refused('within 0.2 s', true));
    const loop = await aServer((_request, response) => void response.writeHead(302, { location: '/' }).end());
    const endless = await fetch(`http://127.0.0.1:${loop.port}/`, { allow: ['loopback'] });
    expect(endless.fetched).toMatchObject(refused('redirects more than 5 times', false));
  });

  it('ends with its attempt', async () => {
    const stopping = new AbortController();
    const { port } = await aServer(() => stopping.abort());
    const { fetched } = await fetch(`http://127.0.0.1:${port}/`, {
      allow: ['loopback'],
      stop: stopping.signal,
    });
    expect(fetched).toEqual({ kind: 'stopped' });
  });
});
