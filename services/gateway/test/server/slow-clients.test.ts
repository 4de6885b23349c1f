import { silentLogger } from '@runledger/event-log/connect/logger';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { answerRefusals } from '../../src/server/answer-refusals.ts';
import { openHttpServer } from '../../src/server/http-server.ts';
import { COMMON_HEADERS } from '../../src/http/response-headers.ts';
import { jsonBody } from '../../src/server/json-body.ts';
import { open as openSocket, rawRequest } from '../fixtures/requests/raw-request.ts';

/** Gives back the JSON that it is sent, if it is sent soon. */
const anEcho = () => {
  const app = new Koa();
  const body = jsonBody(1_000, 100);
  app.use(answerRefusals({ logger: silentLogger, headers: COMMON_HEADERS, failures: [] }));
  app.use(async (ctx) => {
    ctx.body = { got: ctx.path === '/unread' ? null : await body(ctx) };
  });
  return openHttpServer(app, { host: '127.0.0.1', port: 0, finishWithinMs: 100, headersWithinMs: 150 });
};
const HEAD = 'Host: x\r\nContent-Type: application/json\r\n';

describe('a client that is slow', () => {
  it('with its headers is answered with 408, in our form', async () => {
    await using server = await anEcho();
    const { status, headers, body } = await rawRequest(server.url, 'POST / HTTP/1.1\r\nHost: x\r\n');
    expect([status, headers['api-version'], headers['connection']]).toEqual([408, 'V2', 'close']);
    expect(JSON.parse(body)).toEqual({ detail: expect.any(String) });
  });

  it('with its body is answered with 408, and let go', async () => {
    await using server = await anEcho();
    const { status, headers, body } = await rawRequest(
      server.url,
      `POST / HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\n{"a"`,
    );
    expect([status, headers['connection']]).toEqual([408, 'close']);
    expect(JSON.parse(body)).toEqual({ detail: 'The body was not sent within 0.1 s' });
  });

  it('is served when it is not too slow', async () => {
    await using server = await anEcho();
    const sent = rawRequest(server.url, `POST / HTTP/1.1\r\n${HEAD}Content-Length: 7\r\n\r\n`, '{"a"', ':1}');
    expect(JSON.parse((await sent).body)).toEqual({ got: { a: 1 } });
  });
});

describe('a body that nobody reads', () => {
  it('ends the connection when it does not end', async () => {
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
