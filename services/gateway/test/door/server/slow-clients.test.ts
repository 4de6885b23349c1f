import { silentLogger } from '@runledger/event-log/connect/observability';
import Koa from 'koa';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { answerRefusals } from '../../../src/door/app.ts';
import { openHttpServer } from '../../../src/door/http-server.ts';
import { COMMON_HEADERS } from '../../../src/door/responses.ts';
import { jsonBody } from '../../../src/door/json-body.ts';
import { open as openSocket, rawRequest } from '../../fixtures/requests/raw-request.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Sends back the JSON that it receives, if it receives it in time. */
const anEcho = async () => {
  const app = new Koa();
  const body = jsonBody(1_000);
  let requests = 0;
  app.use(answerRefusals({ logger: silentLogger, headers: COMMON_HEADERS, failures: [] }));
  app.use(async (ctx) => {
    const reading = ctx.path === '/unread' ? null : body(ctx);
    requests += 1;
    ctx.body = { got: await reading };
  });
  const headers = COMMON_HEADERS;
  const server = await openHttpServer(app, {
    host: '127.0.0.1',
    port: 0,
    finishWithinMs: 100,
    headers,
    onStopping: () => undefined,
  });
  return { ...server, requests: () => requests };
};
const HEAD = 'Host: x\r\nContent-Type: application/json\r\n';

describe('a client that is slow', () => {
  it('gets a 408 when its body is late, and is disconnected', async () => {
    await using server = await anEcho();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const answered = rawRequest(server.url, `POST / HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\n{"a"`);
    await vi.waitFor(() => expect(server.requests()).toBe(1));
    vi.advanceTimersByTime(15_000);
    const { status, headers, body } = await answered;
    expect([status, headers['connection']]).toEqual([408, 'close']);
    expect(JSON.parse(body)).toEqual(aRefusal('request_too_slow', 'The body was not sent within 15 s'));
  });

  it('is served when it sends its body in time', async () => {
    await using server = await anEcho();
    const sent = rawRequest(server.url, `POST / HTTP/1.1\r\n${HEAD}Content-Length: 7\r\n\r\n`, '{"a"', ':1}');
    expect(JSON.parse((await sent).body)).toEqual({ got: { a: 1 } });
  });
});

describe('a connection without a request', () => {
  it('stays open for longer than the 60 s after which a load balancer may still use it', async () => {
    await using server = await anEcho();
    const response = await fetch(server.url, { method: 'POST', body: '{}' });
    const seconds = /timeout=(\d+)/.exec(response.headers.get('keep-alive') ?? '')?.[1];
    expect(Number(seconds)).toBeGreaterThan(60);
  });
});

describe('a body that the server does not read', () => {
  it('ends the connection when it is too large', async () => {
    await using server = await anEcho();
    const socket = openSocket(server.url);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined).resume();
    socket.write(`POST /unread HTTP/1.1\r\n${HEAD}Content-Length: 100000000\r\n\r\n`);
    const piece = Buffer.alloc(1024 * 1024);
    let sent = 0;
    const send = (): void => {
      while (!socket.destroyed && sent < 99) {
        sent += 1;
        if (!socket.write(piece)) {
          socket.once('drain', send);
          return;
        }
      }
    };
    send();
    await closed;
    // The 16 MiB that are dropped, and what the kernel holds.
    expect(sent).toBeLessThan(40);
  });
});
