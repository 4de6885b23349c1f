import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { healthPage } from '@runledger/testing/health-pages';
import { waitFor } from '@runledger/testing/wait-for';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { openHttpServer, type HttpServerOptions } from '../../src/door/http-server.ts';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { startGatewayProcess } from '../fixtures/gateway/a-service.ts';
import { open as openSocket } from '../fixtures/requests/raw-request.ts';
import { anAttempt, numbered } from '../runs/attempts/an-upload.ts';

/** Responds once `finish` is called. `/stream` begins at once. */
const aServer = async (options: Partial<HttpServerOptions> = {}) => {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const app = new Koa();
  let inProgress = 0;
  app.use(async (ctx) => {
    inProgress += 1;
    if (ctx.path === '/stream') {
      ctx.respond = false;
      ctx.res.write('begun ');
      await finished;
      ctx.res.end('over');
      return;
    }
    if (ctx.path === '/slow') await finished;
    ctx.body = 'done';
  });
  const server = await openHttpServer(app, {
    host: '127.0.0.1',
    port: 0,
    finishWithinMs: 20_000,
    headers: {},
    onStopping: () => undefined,
    ...options,
  });
  return { server, finish, inProgress: () => inProgress };
};

const aKeptConnection = () => {
  const agent = new Agent({ keepAlive: true });
  return { agent, [Symbol.dispose]: () => agent.destroy() };
};

const get = async (url: string, agent: Agent): Promise<IncomingMessage> => {
  const asked = request(url, { agent }).end();
  const [answer] = await once(asked, 'response');
  return answer.setEncoding('utf8');
};
const textOf = async (answer: IncomingMessage): Promise<string> => (await answer.toArray()).join('');
const refuses = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => false,
    () => true,
  );

describe('a server that stops', () => {
  it('finishes requests in progress, closes its connections and accepts no more', async () => {
    using kept = aKeptConnection();
    const { server, finish, inProgress } = await aServer();
    const first = await get(server.url, kept.agent);
    expect([await textOf(first), first.headers.connection]).toEqual(['done', 'keep-alive']);
    const slow = get(`${server.url}/slow`, kept.agent);
    await waitFor('the request to be in progress', () => inProgress() === 2);
    const stopped = server[Symbol.asyncDispose]();
    await waitFor('the server to accept no more', () => refuses(server.url));
    finish();
    const answer = await slow;
    expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close']);
    expect(await textOf(answer)).toBe('done');
    await stopped;
  });

  it('answers all requests of a connection that does not wait for responses, and closes it with the last', async () => {
    const { server, finish, inProgress } = await aServer();
    const socket = openSocket(server.url).setEncoding('latin1');
    socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2));
    await waitFor('both requests to be in progress', () => inProgress() === 2);
    const stopped = server[Symbol.asyncDispose]();
    finish();
    const received = (await socket.toArray()).join('');
    expect(received.match(/HTTP\/1\.1 200 |connection: [a-z-]+/gi)).toEqual([
      'HTTP/1.1 200 ',
      'Connection: keep-alive',
      'HTTP/1.1 200 ',
      'Connection: close',
    ]);
    await stopped;
  });

  it('notifies its owner once, before it waits for open requests', async () => {
    let calls = 0;
    const onStopping = () => {
      calls += 1;
      finish();
    };
    const { server, finish } = await aServer({ onStopping });
    using kept = aKeptConnection();
    const stream = await get(`${server.url}/stream`, kept.agent);
    const text = textOf(stream);
    await server[Symbol.asyncDispose]();
    expect([calls, await text]).toEqual([1, 'begun over']);
  });

  it('closes also when its owner throws at that notification', async () => {
    const onStopping = () => {
      throw new Error('it failed');
    };
    const { server } = await aServer({ onStopping });
    await expect(server[Symbol.asyncDispose]()).rejects.toThrow('it failed');
    expect(await refuses(server.url)).toBe(true);
  });

  it('ends requests that do not end in time', async () => {
    const { server, finish, inProgress } = await aServer({ finishWithinMs: 100 });
    const ended = refuses(`${server.url}/slow`);
    await waitFor('the request to be in progress', () => inProgress() === 1);
    await server[Symbol.asyncDispose]();
    expect(await ended).toBe(true);
    finish();
  });
});

describe('a gateway process that is called to stop', { timeout: 60_000 }, () => {
  it('stores the upload in progress, is not ready, and exits with 0', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const attempt = await anAttempt(bed, await bed.gateway());
    const gateway = open.use(
      await startGatewayProcess({
        ...bed.nats.env,
        RUNLEDGER_VIEWS: 'sqlite',
        RUNLEDGER_VIEWS_FILE: ':memory:',
        // Half of it is for what is in hand.
        RUNLEDGER_STOP_WITHIN_S: '30',
      }),
    );
    const bytes = numbered(300_000);
    const { org_id, run_id } = attempt.run;
    const path = `/executions/${org_id}/${run_id}/1/outputs?filename=a.png&subfolder=&type=output`;
    const socket = openSocket(gateway.url);
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.write(
      `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attempt.token}\r\n` +
        `Content-Type: image/png\r\nContent-Length: ${bytes.byteLength}\r\n\r\n`,
    );
    socket.write(bytes.subarray(0, 200_000));
    await waitFor('a part of it to be stored', async () => {
      const { state } = await bed.log.jsm.streams.info('OBJ_OUTPUTS');
      return state.messages > 0;
    });
    gateway.kill('SIGTERM');
    await waitFor('the server to accept no more', () => refuses(gateway.url));
    const ready = await healthPage(gateway.health, '/readyz');
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('SIGTERM')]);
    socket.write(bytes.subarray(200_000));
    expect(await gateway.exit()).toBe(0);
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(answer).toMatch(/^connection: close\r$/im);
  });
});
