import { waitFor } from '@runledger/testing/wait-for';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { httpReceiver, rawReceiver } from './receivers.ts';
import { outgoing, send, senderTo } from './sending.ts';

describe('an aborted signal', () => {
  it('interrupts an attempt that waits for its response', async () => {
    await using receiver = await rawReceiver(() => undefined);
    await using sender = senderTo();
    const stop = new AbortController();
    const sending = sender.send(outgoing(receiver.url), stop.signal);
    await waitFor('the connection', () => receiver.open() === 1);
    stop.abort();
    expect(await sending).toMatchObject({ reason: 'interrupted', status: null });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
  });

  it('prevents an attempt from beginning', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    expect(await sender.send(outgoing(receiver.url), AbortSignal.abort())).toMatchObject({
      reason: 'interrupted',
    });
    expect(receiver.taken()).toBe(0);
  });

  it('does not change a result whose status has arrived', async () => {
    const answered = Promise.withResolvers<undefined>();
    await using receiver = await rawReceiver((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun', () =>
          answered.resolve(undefined),
        );
      });
    });
    await using other = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    const stop = new AbortController();
    const sending = sender.send(outgoing(receiver.url), stop.signal);
    await answered.promise;
    // A whole try after the write: what was written before has been read.
    await send(sender, other.url);
    stop.abort();
    expect(await sending).toMatchObject({ reason: 'accepted', answer: 'begun' });
  });

  it('has no listeners after an attempt', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 30 }, () => sender.send(outgoing(receiver.url), signal)));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a sender that is closed', () => {
  it('interrupts what it sends, and leaves no connection', async () => {
    await using hole = await rawReceiver(() => undefined);
    await using healthy = await httpReceiver((_request, response) => response.end());
    const sender = senderTo();
    await send(sender, healthy.url);
    const stuck = Array.from({ length: 20 }, () => send(sender, hole.url));
    await waitFor('20 tries that hang', () => hole.open() === 20);
    await sender[Symbol.asyncDispose]();
    const reasons = (await Promise.all(stuck)).map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(['interrupted']));
    await waitFor('all connections to be closed', () => hole.open() + healthy.open() === 0);
  });

  it('sends nothing more', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    const sender = senderTo();
    await sender[Symbol.asyncDispose]();
    expect(await send(sender, receiver.url)).toMatchObject({ reason: 'interrupted' });
    expect(receiver.taken()).toBe(0);
  });
});

describe('an attempt with invalid headers', () => {
  it('is an internal error', async () => {
    await using receiver = await httpReceiver((_request, response) => response.end());
    await using sender = senderTo();
    const { signal } = new AbortController();
    const answered = await sender.send(
      { ...outgoing(receiver.url), headers: { 'webhook-id': 'a\r\nb: c' } },
      signal,
    );
    expect(answered).toMatchObject({ reason: 'internal_error' });
    await waitFor('the connection to be closed', () => receiver.open() === 0);
  });
});
