import { gzipSync } from 'node:zlib';
import { text } from 'node:stream/consumers';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { httpReceiver } from './receivers.ts';
import { send, sendOnce, senderTo } from './sending.ts';

describe('an attempt at a healthy receiver', () => {
  it('sends body and headers unchanged', async () => {
    const got: { method?: string; url?: string; headers?: IncomingHttpHeaders; body?: string } = {};
    await using receiver = await httpReceiver((request, response) => {
      void text(request).then((body) => {
        Object.assign(got, { method: request.method, url: request.url, headers: request.headers, body });
        response.end('thank you');
      });
    });
    const answered = await sendOnce(receiver.url);
    expect(answered).toMatchObject({
      reason: 'accepted',
      status: 200,
      answer: 'thank you',
      retry_after: null,
    });
    expect(got).toMatchObject({ method: 'POST', url: '/hooks?secret=path', body: '{"run_id":"one"}' });
    expect(got.headers).toEqual({
      host: `receiver.example:${receiver.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': '16',
      'accept-encoding': 'identity',
      'webhook-id': 'msg_1',
    });
    expect(answered.message).toBe(`receiver.example:${receiver.port} answered 200.`);
  });

  it.each([
    [204, 'accepted'],
    [301, 'redirect'],
    [304, 'redirect'],
    [400, 'client_error'],
    [410, 'gone'],
    [429, 'throttled'],
    [500, 'server_error'],
    [503, 'server_error'],
    [999, 'malformed_answer'],
  ])('records %i as %s', async (status, reason) => {
    await using receiver = await httpReceiver((_request, response) => response.writeHead(status).end());
    expect(await sendOnce(receiver.url)).toMatchObject({ status, reason });
  });

  it('at an address that is not public keeps the status, and nothing of the answer', async () => {
    await using receiver = await httpReceiver((_request, response) =>
      response.writeHead(500).end('inner s3cret'),
    );
    const found = { kind: 'allowed', addresses: ['127.0.0.1'], arePublic: false } as const;
    const answered = await sendOnce(receiver.url, { resolve: () => Promise.resolve(found) });
    expect(answered).toMatchObject({ reason: 'server_error', status: 500, answer: null });
    expect(JSON.stringify(answered)).not.toContain('s3cret');
  });

  it('does not follow a redirect', async () => {
    await using inner = await httpReceiver((_request, response) => response.end());
    await using receiver = await httpReceiver((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end(),
    );
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'redirect', status: 302 });
    expect(inner.taken()).toBe(0);
  });

  it('returns Retry-After unchanged, unless it is too long', async () => {
    let value = 'Fri, 31 Dec 1999 23:59:59 GMT';
    await using receiver = await httpReceiver((_request, response) =>
      response.writeHead(429, { 'retry-after': value }).end(),
    );
    expect((await sendOnce(receiver.url)).retry_after).toBe(value);
    value = '1'.repeat(65);
    expect((await sendOnce(receiver.url)).retry_after).toBeNull();
  });

  it('records the first 2 KiB of the body, and cuts no character in two', async () => {
    await using receiver = await httpReceiver((_request, response) =>
      response.end('x' + '\u{20AC}'.repeat(5_000)),
    );
    const { answer } = await sendOnce(receiver.url);
    expect(answer).toBe('x' + '\u{20AC}'.repeat(682));
  });

  it('decompresses nothing', async () => {
    const bytes = gzipSync('a'.repeat(10_000_000));
    await using receiver = await httpReceiver((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes),
    );
    const { reason, answer } = await sendOnce(receiver.url);
    expect(reason).toBe('accepted');
    expect(answer).toBe(new TextDecoder().decode(bytes.subarray(0, 2_048), { stream: true }));
  });

  it('measures the phases, and only those that were needed', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    const first = await send(sender, receiver.url);
    expect(first.phases).toEqual({
      dns: expect.any(Number),
      connect: expect.any(Number),
      tls: null,
      wait: expect.any(Number),
      body: expect.any(Number),
    });
    const second = await send(sender, receiver.url);
    expect(second.phases).toMatchObject({ connect: null, tls: null, wait: expect.any(Number) });
  });
});
