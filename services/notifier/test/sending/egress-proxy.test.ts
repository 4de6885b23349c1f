import type { RequestListener } from 'node:http';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, describe, expect, it } from 'vitest';
import { openSender, type Sender } from '../../src/sender.ts';
import { certify, trustCertificates } from './certificates.ts';
import { forwardProxy } from './forward-proxy.ts';
import { httpReceiver, httpsReceiver, rawReceiver, saying } from './receivers.ts';
import { send, senderTo } from './sending.ts';

const valid = await certify({ names: ['receiver.example'], addresses: ['127.0.0.1'] });
const trust = await trustCertificates();
afterAll(() => trust[Symbol.dispose]());
const tellHost: RequestListener = (request, response) => void response.end(request.headers.host);
const target = new URL('http://receiver.example:8080/hooks');

const through = (proxy: string, addresses = ['127.0.0.1'], withinMs = 15_000): Sender =>
  senderTo(addresses, { proxy: new URL(proxy), withinMs });

describe('an attempt through a proxy', () => {
  it.each([
    ['http', () => httpReceiver(tellHost), null],
    ['https', () => httpsReceiver(tellHost, valid), expect.any(Number)],
  ])('reaches an %s receiver by its address', async (_scheme, open, tls) => {
    await using receiver = await open();
    await using proxy = await forwardProxy();
    await using sender = through(`http://me:p%40ss@127.0.0.1:${proxy.port}`);
    expect(await send(sender, receiver.url)).toMatchObject({
      reason: 'accepted',
      answer: `receiver.example:${receiver.port}`,
      phases: { connect: expect.any(Number), tls },
    });
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'accepted', phases: { connect: null } });
    expect(proxy.asked).toEqual([
      { target: `127.0.0.1:${receiver.port}`, authorization: `Basic ${btoa('me:p@ss')}` },
    ]);
  });

  it('reaches a receiver by TLS within the TLS of the proxy', async () => {
    await using receiver = await httpsReceiver((_request, response) => response.end('inside'), valid);
    await using proxy = await forwardProxy(valid);
    await using sender = through(`https://127.0.0.1:${proxy.port}`);
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'accepted', answer: 'inside' });
  });

  it('tries the next address when the proxy cannot reach one', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end(), '::1');
    await using proxy = await forwardProxy();
    await using sender = through(`http://127.0.0.1:${proxy.port}`, ['::1', '127.0.0.1']);
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'accepted' });
    expect(proxy.asked.map((asked) => asked.target)).toEqual([
      `127.0.0.1:${receiver.port}`,
      `[::1]:${receiver.port}`,
    ]);
  });

  it('obeys the policy', async () => {
    await using proxy = await forwardProxy();
    await using sender = senderTo(['127.0.0.1'], {
      proxy: new URL(`http://127.0.0.1:${proxy.port}`),
      mayConnect: () => false,
    });
    expect(await send(sender, target)).toMatchObject({ reason: 'forbidden' });
    expect(proxy.asked).toEqual([]);
  });
});

describe('a proxy that fails', () => {
  it.each([
    [407, 'proxy_failed'],
    [403, 'proxy_failed'],
    [500, 'proxy_failed'],
    [302, 'proxy_failed'],
    [502, 'connect_failed'],
    [503, 'connect_failed'],
    [504, 'connect_timed_out'],
  ])('with the answer %i is recorded as %s, without its credentials', async (status, reason) => {
    await using proxy = await rawReceiver(saying(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`));
    await using sender = through(`http://me:topsecret@127.0.0.1:${proxy.port}`);
    const answered = await send(sender, target);
    expect(answered).toMatchObject({ reason, status: null, answer: null });
    expect(JSON.stringify(answered)).not.toContain('topsecret');
    await waitFor('the connection to be closed', () => proxy.open() === 0);
  });

  it.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\na: ${'x'.repeat(64 * 1_024)}`],
  ])('with %s in its answer is recorded as proxy_failed', async (_what, text) => {
    await using proxy = await rawReceiver(saying(text));
    await using sender = through(`http://127.0.0.1:${proxy.port}`);
    expect(await send(sender, target)).toMatchObject({ reason: 'proxy_failed' });
  });

  it('because it is down is recorded as proxy_failed', async () => {
    const proxy = await rawReceiver(() => undefined);
    await proxy[Symbol.asyncDispose]();
    await using sender = through(`http://me:topsecret@127.0.0.1:${proxy.port}`);
    const answered = await send(sender, target);
    expect(answered.reason).toBe('proxy_failed');
    expect(JSON.stringify(answered)).not.toContain('topsecret');
  });

  it('because it closes the connection without an answer is recorded as proxy_failed', async () => {
    await using proxy = await rawReceiver((socket) => void socket.once('data', () => socket.end()));
    await using sender = through(`http://127.0.0.1:${proxy.port}`);
    expect(await send(sender, target)).toMatchObject({ reason: 'proxy_failed' });
  });

  it('because its certificate is for another name is recorded as proxy_failed', async () => {
    await using proxy = await httpsReceiver(() => undefined, await certify({ names: ['other.example'] }));
    await using sender = through(`https://127.0.0.1:${proxy.port}`);
    expect(await send(sender, target)).toMatchObject({ reason: 'proxy_failed' });
  });

  it('because the receiver does not answer in time is recorded as connect_timed_out', async () => {
    await using proxy = await rawReceiver(() => undefined);
    await using sender = through(`http://127.0.0.1:${proxy.port}`, ['127.0.0.1'], 200);
    expect(await send(sender, target)).toMatchObject({ reason: 'connect_timed_out' });
    await waitFor('the connection to be closed', () => proxy.open() === 0);
  });
});

describe('the setting of a proxy', () => {
  it.each(['socks5://me:topsecret@127.0.0.1:1080', 'http://me:topsecret%ZZ@127.0.0.1'])(
    'is refused when it is not the URL of an HTTP proxy: %s',
    (proxy) => {
      const open = (): unknown =>
        openSender({
          withinMs: 15_000,
          resolve: () => Promise.resolve({ kind: 'allowed', addresses: [], arePublic: true }),
          mayConnect: () => true,
          proxy: new URL(proxy),
        });
      expect(open).toThrow(RangeError);
      expect(open).not.toThrow('topsecret');
    },
  );
});
