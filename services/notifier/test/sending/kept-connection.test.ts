import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { httpReceiver, rawReceiver } from './receivers.ts';
import { outgoing, send, senderTo } from './sending.ts';

describe('a kept connection', () => {
  it('serves the next attempt at the same addresses', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    for (let count = 0; count < 5; count += 1) await send(sender, receiver.url);
    expect(receiver.taken()).toBe(1);
  });

  it('is not used once the name has other addresses', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    const answers = [['127.0.0.1'], ['127.0.0.1', '127.0.0.2']];
    await using sender = senderTo([], {
      resolve: () => Promise.resolve({ kind: 'allowed', addresses: answers.shift() ?? [], arePublic: true }),
      mayConnect: () => true,
    });
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'accepted' });
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'accepted' });
    expect(receiver.taken()).toBe(2);
  });

  it('that the receiver closes on the second request is replaced within the same attempt', async () => {
    await using receiver = await rawReceiver((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        socket.once('data', () => socket.destroy());
      });
    });
    await using sender = senderTo();
    await send(sender, receiver.url);
    expect(await send(sender, receiver.url)).toMatchObject({
      reason: 'accepted',
      phases: { connect: expect.any(Number) },
    });
    expect(receiver.taken()).toBe(2);
  });

  it('is replaced once only', async () => {
    let answers = 1;
    await using receiver = await rawReceiver((socket) => {
      socket.on('data', () => {
        if (answers > 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        else socket.destroy();
        answers -= 1;
      });
    });
    await using sender = senderTo();
    await send(sender, receiver.url);
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'reset', status: null });
    expect(receiver.taken()).toBe(2);
  });

  it('is not used when an answer was sent before the request', async () => {
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
    await using receiver = await rawReceiver((socket) => {
      const first = receiver.taken() === 1;
      socket.once('data', () => {
        socket.write(first ? ok : 'HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n');
        if (first) setImmediate(() => socket.write(ok));
      });
    });
    await using sender = senderTo();
    await send(sender, receiver.url);
    await waitFor('the connection to be given up', () => receiver.open() === 0);
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'server_error' });
  });

  it('is one of at most eight to a receiver', async () => {
    const held: (() => void)[] = [];
    await using receiver = await httpReceiver((_request, response) => {
      held.push(() => response.end());
    });
    await using sender = senderTo();
    const tries = Array.from({ length: 20 }, () => send(sender, receiver.url));
    await waitFor('20 requests at once', () => held.length === 20);
    for (const answer of held) answer();
    await Promise.all(tries);
    await waitFor('the others to be closed', () => receiver.open() === 8);
  });

  it('is kept to at most 512 receivers, the last ones used', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    const named = (number: number): URL => new URL(`http://r${number}.example:${receiver.port}/`);
    for (let number = 0; number < 520; number += 1) await send(sender, named(number));
    await waitFor('the others to be closed', () => receiver.open() <= 512);
    expect(await send(sender, named(519))).toMatchObject({ phases: { connect: null } });
    expect(await send(sender, named(0))).toMatchObject({ phases: { connect: expect.any(Number) } });
  });

  it('is closed when it was idle for a while', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    await send(sender, receiver.url);
    await waitFor('the idle connection to be closed', () => receiver.open() === 0);
  });

  it('is not kept to a receiver that answers without reading the body', async () => {
    await using receiver = await rawReceiver((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    await using sender = senderTo();
    const { reason } = await sender.send(
      outgoing(receiver.url, 'x'.repeat(32 * 1_024 * 1_024)),
      new AbortController().signal,
    );
    expect(reason).toBe('accepted');
    expect(await send(sender, receiver.url)).toMatchObject({ phases: { connect: expect.any(Number) } });
  });
});
