import { waitFor } from '@runledger/testing/wait-for';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { rawReceiver, saying } from './receivers.ts';
import { send, sendOnce, senderTo } from './sending.ts';

const HEAD = 'HTTP/1.1 200 OK\r\n';
const withinMs = 400;

/** Writes the text again and again, as fast as it is taken, and counts the bytes that it sent. */
const flooding =
  (start: string, text: string, count: (bytes: number) => void = () => undefined) =>
  (socket: Socket): void => {
    // With each in a write of its own, this process does little else.
    const piece = text.repeat(Math.ceil(16_384 / text.length));
    const flood = (): void => {
      while (!socket.destroyed) {
        count(piece.length);
        if (!socket.write(piece)) return;
      }
    };
    socket.once('data', () => {
      socket.write(start);
      socket.on('drain', flood);
      flood();
    });
  };

const dripping =
  (start: string, byte: string) =>
  (socket: Socket): void => {
    socket.once('data', () => {
      socket.write(start);
      const timer = setInterval(() => socket.write(byte), 40);
      socket.once('close', () => clearInterval(timer));
    });
  };

describe('a slow receiver', () => {
  it.each([
    ['never answers', (): void => undefined],
    ['sends its headers byte by byte', dripping(HEAD, 'x')],
    ['sends interim answers forever', dripping('', 'HTTP/1.1 103 Early Hints\r\n\r\n')],
    ['answers too late', (socket: Socket): void => void setTimeout(() => socket.end(`${HEAD}\r\n`), 2_000)],
  ])('that %s ends the attempt at its time limit', async (_what, talk) => {
    await using receiver = await rawReceiver(talk);
    const answered = await sendOnce(receiver.url, { withinMs });
    expect(answered).toMatchObject({ reason: 'timed_out', status: null, answer: null });
    expect(answered.phases).toMatchObject({ wait: expect.any(Number), body: null });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
  });

  it('has accepted when the headers of its 2xx have arrived, even if the body stalls', async () => {
    await using receiver = await rawReceiver(saying(`${HEAD}content-length: 100\r\n\r\nbegun`));
    const answered = await sendOnce(receiver.url, { withinMs });
    expect(answered).toMatchObject({ reason: 'accepted', status: 200, answer: 'begun' });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
  });

  it('has accepted when the body of its 2xx comes byte by byte', async () => {
    await using receiver = await rawReceiver(dripping(`${HEAD}content-length: 100000\r\n\r\n`, 'x'));
    const answered = await sendOnce(receiver.url, { withinMs });
    expect(answered).toMatchObject({ reason: 'accepted', answer: expect.stringMatching(/^x+$/) });
  });

  it('has failed when the body of its 500 stalls', async () => {
    await using receiver = await rawReceiver(saying('HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\n'));
    expect(await sendOnce(receiver.url, { withinMs })).toMatchObject({ reason: 'server_error', status: 500 });
  });
});

describe('a receiver that sends too much', () => {
  it.each([
    ['with a length', `${HEAD}content-length: 99999999999\r\n\r\n`, 'x'.repeat(16_384)],
    ['in chunks', `${HEAD}transfer-encoding: chunked\r\n\r\n`, `4000\r\n${'x'.repeat(16_384)}\r\n`],
    ['to the end of the connection', `${HEAD}\r\n`, 'x'.repeat(16_384)],
  ])('is disconnected after 64 KiB of an endless body %s', async (_how, start, text) => {
    let sent = 0;
    const count = (bytes: number): void => void (sent += bytes);
    await using receiver = await rawReceiver(flooding(start, text, count));
    const answered = await sendOnce(receiver.url);
    expect(answered).toMatchObject({ reason: 'accepted', answer: 'x'.repeat(2_048) });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
    // Beyond what was read lie the buffers of both systems.
    expect(sent).toBeLessThan(32 * 1_024 * 1_024);
  });

  it.each([
    ['endless header', HEAD, 'x'.repeat(1_024)],
    ['endless headers', HEAD, 'a: b\r\n'],
    ['endless status line', 'HTTP/1.1 200 ', 'x'.repeat(1_024)],
    ['interim answers without end', '', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'],
  ])('is disconnected because of its %s', async (_what, start, text) => {
    await using receiver = await rawReceiver(flooding(start, text));
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'malformed_answer', status: null });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
  });

  it('is disconnected when its trailers do not end', async () => {
    const start = `${HEAD}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n`;
    await using receiver = await rawReceiver(flooding(start, 'a: b\r\n'));
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'accepted', answer: 'ok' });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
  });
});

describe('a receiver that does not speak HTTP', () => {
  it.each([
    ['garbage', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['another version', 'HTTP/7.1 200 OK\r\n\r\n'],
    ['two lengths', `${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\n`],
    ['a length and chunks', `${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['a header with a NUL', `${HEAD}a: \0\r\n\r\n`],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
  ])('gave a malformed answer with %s', async (_what, text) => {
    await using receiver = await rawReceiver(saying(text));
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'malformed_answer', status: null });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
  });

  it('counts by its status when garbage follows the headers', async () => {
    await using receiver = await rawReceiver(saying(`${HEAD}transfer-encoding: chunked\r\n\r\ngarbage\r\n`));
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'accepted', answer: '' });
  });

  it('cannot put words of its own into the message', async () => {
    await using receiver = await rawReceiver(saying('HTTP/1.1 500 <script>\r\ncontent-length: 0\r\n\r\n'));
    const { message } = await sendOnce(receiver.url);
    expect(message).not.toContain('script');
    expect(message).not.toContain('secret');
  });
});

describe('a receiver that ends the connection', () => {
  it.each([
    ['at once', (socket: Socket): void => void socket.end()],
    ['after the request', (socket: Socket): void => void socket.once('data', () => socket.end())],
    ['by a reset', (socket: Socket): void => void socket.once('data', () => socket.resetAndDestroy())],
    [
      'within its headers',
      (socket: Socket): void => void socket.once('data', () => socket.end(`${HEAD}a: `)),
    ],
  ])('%s has not answered', async (_when, talk) => {
    await using receiver = await rawReceiver(talk);
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'reset', status: null });
  });

  it('within the body of its 2xx has accepted', async () => {
    await using receiver = await rawReceiver((socket) => {
      socket.once('data', () => socket.end(`${HEAD}content-length: 100\r\n\r\nbegun`));
    });
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'accepted', answer: 'begun' });
  });
});

describe('many hostile receivers', () => {
  it('do not hold up a healthy one', async () => {
    await using hole = await rawReceiver(() => undefined);
    await using healthy = await rawReceiver(saying(`${HEAD}content-length: 0\r\n\r\n`));
    await using sender = senderTo(['127.0.0.1'], { withinMs: 60_000 });
    const stuck = Array.from({ length: 100 }, () => send(sender, hole.url));
    await waitFor('100 tries that hang', () => hole.open() === 100);
    expect(await send(sender, healthy.url)).toMatchObject({ reason: 'accepted' });
    hole.cut();
    const ended = await Promise.all(stuck);
    expect(new Set(ended.map(({ reason }) => reason))).toEqual(new Set(['reset']));
  });
});
