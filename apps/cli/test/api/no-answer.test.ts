import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RUN, aGateway, aRun } from '../fixtures/fake-gateway.ts';
import { at, runCli, startCli } from '../fixtures/run-cli.ts';

/** It accepts connections and never says anything. */
const aSilentServer = async (): Promise<string> => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describe('a server that does not answer', () => {
  it('is told of after 5 s: a read fails, a change waits on, and a wait was asked for', async () => {
    const origin = await aSilentServer();
    const url = `${origin}/api`;
    const withoutBasePath = runCli(['get', RUN], at(origin));
    // It speaks no TLS: no connection comes about, so that nothing was changed either.
    const unreachable = runCli(['cancel', RUN], at(url.replace('http:', 'https:')));
    const began = performance.now();
    const cancelling = startCli(['cancel', RUN], at(url));
    const waiting = startCli(['get', RUN, '--wait', '20'], at(url));
    const read = await runCli(['get', RUN], at(url));
    const { code, stderr } = await unreachable;
    const asked = await withoutBasePath;
    const tookMs = performance.now() - began;
    expect(read).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`There is no answer from ${url}: it sent nothing for 5 s.`),
    });
    expect(asked).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`There is no answer from ${origin}: it sent nothing for 5 s.`),
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('it accepted no connection within 5 s')]);
    expect(tookMs).toBeGreaterThan(4_900);
    expect(tookMs).toBeLessThan(9_000);
    const notice = `${url} has not answered for 5 s. Waiting for up to 30 s in all.\n`;
    expect([cancelling.stderr(), waiting.stderr()]).toEqual([notice, '']);
  });
});

describe('a URL without a base path', () => {
  const origin = (url: string): string => new URL(url).origin;
  const document = { status: 200, body: { openapi: '3.1.0' } };

  it('is completed when the API is below /api, which the command says', async () => {
    const gateway = await aGateway(document, aRun());
    const { code, stderr } = await runCli(['get', RUN], at(`${origin(gateway.url)}/`));
    expect(code).toBe(0);
    expect(stderr).toBe(`${origin(gateway.url)} has no base path. Using ${gateway.url}: set it instead.\n`);
    expect(gateway.requests.map(({ path, key }) => [path, key])).toEqual([
      ['/api/openapi.json', ''],
      [`/api/run/${RUN}`, 'Bearer rl_key'],
    ]);
  });

  it('stays when nothing is there, since an API may have no base path', async () => {
    const gateway = await aGateway({ status: 404, body: { detail: 'Not Found' } }, aRun());
    const { code, stderr } = await runCli(['get', RUN], at(origin(gateway.url)));
    expect([code, stderr]).toEqual([0, '']);
    expect(gateway.requests[1]?.path).toBe(`/run/${RUN}`);
  });
});

describe('a wrong setting', () => {
  it.each([
    [
      { RUNLEDGER_URL: '127.0.0.1:8080/api', RUNLEDGER_API_KEY: 'rl_x' },
      'RUNLEDGER_URL = "127.0.0.1:8080/api" is not a URL that begins with http:// or https://',
    ],
    [{ RUNLEDGER_URL: 'http://127.0.0.1:9/api' }, 'RUNLEDGER_URL is set, but RUNLEDGER_API_KEY is not.'],
    [
      { RUNLEDGER_URL: 'http://127.0.0.1:9/api', RUNLEDGER_API_KEY: 'rl_x', RUNLEDGER_CONTEXT: 'prod' },
      'each names a server. Unset one of them.',
    ],
  ])('is told at once, and once: %j', async (env, sentence) => {
    const { code, stderr } = await runCli(['get', RUN], { env });
    expect(code).toBe(2);
    expect(stderr.split(sentence)).toHaveLength(2);
  });
});
