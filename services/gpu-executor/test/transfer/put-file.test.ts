import { once } from 'node:events';
import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identityOf } from '../../src/runners/output-files.ts';
import { putFile, type PutResult } from '../../src/transfer/store-files.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const serve = async (listener: RequestListener): Promise<URL> => {
  const server = createServer(listener);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return new URL(`http://127.0.0.1:${address.port}/outputs`);
};

const put = (
  url: URL,
  path: string,
  bytes: number,
  signal = new AbortController().signal,
): Promise<PutResult> =>
  putFile(
    { path, filename: 'a.bin', subfolder: '', bytes, identity: identityOf(statSync(path)) },
    { url, token: 'token', contentType: 'text/plain', onSent: () => undefined },
    signal,
  );

const aFile = (bytes: number): string => {
  const path = join(temporaryFolder(), 'a.bin');
  writeFileSync(path, '');
  truncateSync(path, bytes);
  return path;
};

describe('sending a file', () => {
  it('reports a refusal that comes before the whole file is sent', async () => {
    const url = await serve((_, response) => {
      response.writeHead(413, { connection: 'close' }).end('{"detail": "a file has at most 1 MiB"}');
    });
    expect(await put(url, aFile(50_000_000), 50_000_000)).toMatchObject({
      kind: 'refused',
      status: 413,
      why: 'the gateway responded with 413: a file has at most 1 MiB',
    });
  });

  it('distinguishes an unavailable gateway from one that refuses, with the time to retry', async () => {
    const busy = await serve((request, response) => {
      request.resume();
      response.writeHead(503, { 'retry-after': '3' }).end('{"detail": "the log is unavailable"}');
    });
    expect(await put(busy, aFile(3), 3)).toMatchObject({ kind: 'unavailable', retryAfterMs: 3_000 });
    const unreachable = new URL('http://127.0.0.1:1/');
    expect(await put(unreachable, aFile(3), 3)).toMatchObject({
      kind: 'unavailable',
      why: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('refuses a response that is not a stored file', async () => {
    const url = await serve((request, response) => {
      request.resume().once('end', () => response.writeHead(201).end('{"key": "short"}'));
    });
    expect(await put(url, aFile(0), 0)).toMatchObject({ kind: 'refused', status: 201 });
  });

  it('ends at once when it is aborted', async () => {
    const stop = new AbortController();
    const url = await serve((request) => void request.once('data', () => stop.abort()));
    expect(await put(url, aFile(50_000_000), 50_000_000, stop.signal)).toMatchObject({ kind: 'unavailable' });
  });

  it.each([
    ['a link', (path: string) => (rmSync(path), symlinkSync('/etc/hostname', path))],
    ['a pipe', (path: string) => (rmSync(path), execFileSync('mkfifo', [path]))],
    ['another file', (path: string) => (renameSync(path, `${path}.old`), writeFileSync(path, '12345'))],
    ['nothing', rmSync],
    ['a shorter file', (path: string) => truncateSync(path, 1)],
  ])('does not send %s that came in its place', async (_what, change) => {
    const path = aFile(3);
    const file = { path, filename: 'a.bin', subfolder: '', bytes: 3, identity: identityOf(statSync(path)) };
    change(path);
    const url = new URL('http://127.0.0.1:1/');
    const target = { url, token: 'token', contentType: 'text/plain', onSent: () => undefined };
    expect(await putFile(file, target, new AbortController().signal)).toEqual({ kind: 'changed' });
  });
});
