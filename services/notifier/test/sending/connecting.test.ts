import { waitFor } from '@runledger/testing/wait-for';
import type { CallbackAddresses } from '@runledger/webhooks/resolve-callback';
import { Worker } from 'node:worker_threads';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { httpReceiver, rawReceiver } from './receivers.ts';
import { send, sendOnce, senderTo } from './sending.ts';

describe('the addresses of a name', () => {
  it.each([
    [{ kind: 'forbidden', why: 'not public' }, 'forbidden', 'not public'],
    [{ kind: 'not_found', why: 'no such name' }, 'name_not_found', 'no such name'],
    [{ kind: 'unanswered', why: 'no answer' }, 'name_unanswered', 'no answer'],
    [{ kind: 'no_server', why: 'no server' }, 'no_dns', 'no server'],
    [
      { kind: 'allowed', addresses: [], arePublic: true },
      'name_not_found',
      'receiver.example has no address.',
    ],
  ] satisfies [CallbackAddresses, string, string][])(
    'end the attempt when they are %o',
    async (found, reason, message) => {
      await using sender = senderTo([], { resolve: () => Promise.resolve(found) });
      const answered = await send(sender, new URL('http://receiver.example/'));
      expect(answered).toMatchObject({ reason, message, status: null });
    },
  );

  it('end the attempt when they are not resolved in time', async () => {
    await using sender = senderTo([], { resolve: () => new Promise(() => undefined), withinMs: 50 });
    expect(await send(sender, new URL('http://receiver.example/'))).toMatchObject({
      reason: 'connect_timed_out',
      phases: { dns: expect.any(Number), connect: null },
    });
  });

  it('are an internal error when the resolver throws', async () => {
    await using sender = senderTo([], { resolve: () => Promise.reject(new Error('a bug')) });
    expect(await send(sender, new URL('http://receiver.example/'))).toMatchObject({
      reason: 'internal_error',
    });
  });

  it('are tried in turn', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo(['::1', '127.0.0.3', '127.0.0.1']);
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'accepted' });
  });

  it('of IPv6 are used when the receiver listens there only', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end(), '::1');
    await using sender = senderTo(['127.0.0.1', '::1']);
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'accepted' });
  });
});

describe('the policy', () => {
  it('is applied to an address in the URL', async () => {
    const asked: string[][] = [];
    await using receiver = await httpReceiver((_request, response) => response.end());
    const answered = await sendOnce(new URL(`http://127.0.0.1:${receiver.port}/`), {
      mayConnect: (...question) => {
        asked.push(question.map(String));
        return false;
      },
    });
    expect(answered.reason).toBe('forbidden');
    expect(asked).toEqual([['127.0.0.1', '127.0.0.1', String(receiver.port)]]);
    expect(receiver.taken()).toBe(0);
  });

  it('is applied to the peer before a byte is sent', async () => {
    let received = 0;
    await using receiver = await rawReceiver((socket) => {
      socket.on('data', (bytes: Buffer) => void (received += bytes.byteLength));
    });
    const verdicts = [true, false];
    const answered = await sendOnce(receiver.url, { mayConnect: () => verdicts.shift() ?? false });
    expect(answered).toMatchObject({
      reason: 'forbidden',
      message: `The webhook policy does not allow a connection to an address of receiver.example at port ${receiver.port}.`,
    });
    expect(verdicts).toEqual([]);
    await waitFor('the connection to be closed', () => receiver.open() === 0);
    expect(received).toBe(0);
  });

  it('gets an IPv6 address of a URL without brackets', async () => {
    const hosts: string[] = [];
    await using receiver = await httpReceiver(
      (request, response) => response.end(request.headers.host),
      '::1',
    );
    await using sender = senderTo(['::1'], {
      mayConnect: (host) => {
        hosts.push(host);
        return true;
      },
    });
    const answered = await send(sender, new URL(`http://[::1]:${receiver.port}/`));
    expect(answered).toMatchObject({ reason: 'accepted', answer: `[::1]:${receiver.port}` });
    expect(hosts).toEqual(['::1', '::1']);
  });
});

describe('a receiver without a connection', () => {
  it('counts as refused when nothing listens', async () => {
    const receiver = await httpReceiver(() => undefined);
    await receiver[Symbol.asyncDispose]();
    expect(await sendOnce(receiver.url)).toMatchObject({
      reason: 'connect_refused',
      phases: { connect: expect.any(Number), wait: null },
    });
  });

  it('counts as refused when nothing listens at any of its addresses', async () => {
    const receiver = await httpReceiver(() => undefined);
    await receiver[Symbol.asyncDispose]();
    await using sender = senderTo(['127.0.0.1', '::1', '127.0.0.2']);
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'connect_refused' });
  });

  it('cannot be reached at an address without a route', async () => {
    // A multicast address takes no TCP connection: the system says so at once.
    await using sender = senderTo(['224.0.0.1']);
    expect(await send(sender, new URL('http://receiver.example/'))).toMatchObject({
      reason: 'connect_failed',
    });
  });

  it('counts as timed out when it accepts no connection', async () => {
    await using full = await fullListener();
    await using sender = senderTo(['127.0.0.1'], { withinMs: 300 });
    expect(await send(sender, new URL(`http://receiver.example:${full.port}/`))).toMatchObject({
      reason: 'connect_timed_out',
      phases: { connect: expect.any(Number), wait: null },
    });
  });
});

/** Listens, but its thread sleeps and its queue is full: further connections are not answered. */
const fullListener = async (): Promise<{ port: number } & AsyncDisposable> => {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
     });`,
    { eval: true },
  );
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  const queued: Socket[] = [];
  let connected = 0;
  const queue = (): void => {
    const socket = connect(port, '127.0.0.1', () => void (connected += 1));
    socket.on('error', () => undefined);
    queued.push(socket);
  };
  for (let count = 0; count < 8; count += 1) queue();
  await waitFor('the queue to be full', () => connected > 0);
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
};
