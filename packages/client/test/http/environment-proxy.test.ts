import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Runledger, RunledgerError } from '../../src/main.ts';
import { proxyOf } from '../../src/http/environment-proxy.ts';

afterEach(() => vi.unstubAllEnvs());
const PROXY = 'http://proxy.test:3128';

describe('the proxy for an address', () => {
  const isUsed = (url: string, noProxy?: string): boolean =>
    proxyOf(new URL(url), { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, NO_PROXY: noProxy }) === PROXY;

  it('is that of its scheme, in lower case before upper case, else that for all', () => {
    const env = { http_proxy: 'http://lower', HTTP_PROXY: 'http://upper', ALL_PROXY: 'http://all' };
    expect(proxyOf(new URL('http://a.test/api'), env)).toBe('http://lower');
    expect(proxyOf(new URL('https://a.test/api'), env)).toBe('http://all');
    expect(proxyOf(new URL('https://a.test/api'), { HTTP_PROXY: PROXY })).toBeUndefined();
    expect(proxyOf(new URL('http://a.test/api'), { HTTP_PROXY: PROXY, http_proxy: '' })).toBeUndefined();
  });

  it.each([
    ['http://127.0.0.1:8080', undefined],
    ['http://localhost:8080', undefined],
    ['http://a.test', 'b.test'],
    ['http://nota.test', 'a.test'],
    ['http://10.1.2.3', '2.3'],
    ['http://10.2.0.1', '10.1.0.0/16'],
    ['http://[::2]', '::1'],
  ])('of %s is used when NO_PROXY is %s', (url, noProxy) => expect(isUsed(url, noProxy)).toBe(true));

  it.each([
    ['http://a.test', '*'],
    ['http://A.test:8080', 'localhost,a.test'],
    ['http://x.a.test', 'a.test'],
    ['http://x.a.test', '.a.test'],
    ['http://a.test', '.a.test'],
    ['http://127.0.0.1:8080', '127.0.0.1, localhost'],
    ['http://10.1.2.3', 'localhost 10.1.0.0/16'],
    ['http://[::1]:8080', '[::1]'],
    ['http://[::1]:8080', '::1'],
  ])('of %s is none when NO_PROXY is %s', (url, noProxy) => expect(isUsed(url, noProxy)).toBe(false));

  it('is none for what any list names', () => {
    fc.assert(
      fc.property(fc.domain(), fc.array(fc.domain()), (host, others) => {
        expect(isUsed(`https://${host}/api`, [...others, host].join(','))).toBe(false);
      }),
    );
  });

  it.each(['socks5://127.0.0.1:1080', 'http://['])('is refused when it is %s', (proxy) => {
    vi.stubEnv('http_proxy', proxy);
    vi.stubEnv('no_proxy', 'other.test');
    expect(() => new Runledger({ url: 'http://a.test/api', apiKey: 'rl_k' })).toThrow(RunledgerError);
    expect(() => new Runledger({ url: 'http://a.test/api', apiKey: 'rl_k' })).toThrow('http://host:port');
  });
});

const listening = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

it('a client sends through it, with its user, and beside it what NO_PROXY names', async () => {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization']} ${request.headers.authorization}`);
    response.setHeader('content-type', 'application/json').end('{"id":"r1","finished":true}');
  });
  const service = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end('{"id":"r2"}');
  });
  try {
    vi.stubEnv('http_proxy', `http://me:word@${await listening(proxy)}`);
    vi.stubEnv('no_proxy', '127.0.0.1');
    const through = new Runledger({ url: 'http://runledger.test/api', apiKey: 'rl_k', retries: 0 });
    expect(await through.runs.wait('r1')).toMatchObject({ id: 'r1' });
    const basic = `Basic ${btoa('me:word')}`;
    expect(asked).toEqual([`http://runledger.test/api/run/r1?wait=30 ${basic} Bearer rl_k`]);
    const beside = new Runledger({
      url: `http://${await listening(service)}/api`,
      apiKey: 'rl_k',
      retries: 0,
    });
    expect(await beside.runs.get('r2')).toMatchObject({ id: 'r2' });
    expect(asked).toHaveLength(1);
  } finally {
    for (const server of [proxy, service]) server.close().closeAllConnections();
  }
});

it('an https address is reached through a tunnel', async () => {
  const asked: string[] = [];
  const proxy = createServer().on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  try {
    vi.stubEnv('https_proxy', await listening(proxy));
    vi.stubEnv('no_proxy', '');
    const client = new Runledger({ url: 'https://runledger.test/api', apiKey: 'rl_k', retries: 0 });
    const named = new RegExp(`through the proxy http://${process.env['https_proxy']} of the environment: `);
    await expect(client.runs.get('r1')).rejects.toMatchObject({
      name: 'ConnectionFailed',
      message: expect.stringMatching(named),
    });
    expect(asked).toEqual(['runledger.test:443']);
  } finally {
    proxy.close().closeAllConnections();
  }
});
