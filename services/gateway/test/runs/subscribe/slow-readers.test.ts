import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { listen } from '@runledger/service-kit/listen';
import { waitFor } from '@runledger/testing/wait-for';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { eventStream } from '../../../src/runs/events.ts';
import { open as openSocket } from '../../fixtures/requests/raw-request.ts';

const KiB = 1024;
const FACTS = 1_000;

/** More than the sockets of both sides hold. */
const manyFacts = (): RunFactEvent[] =>
  Array.from({ length: FACTS }, (_, n) => ({
    sequence: n + 1,
    type: 'RunStarted',
    time: '2026-01-01T00:00:00.000Z',
    attempt: 1,
    status: n + 1 === FACTS ? 'success' : 'running',
    live_status: 'x'.repeat(32 * KiB),
    progress: 0,
    finished: n + 1 === FACTS,
    end_reason: null,
    error: null,
    warnings: [],
    attempts: [],
  }));

interface Streaming extends AsyncDisposable {
  readonly url: string;
  readonly response: () => ServerResponse | undefined;
  readonly closed: () => number;
}

/** Streams these facts to every client. */
const streaming = async (facts: readonly RunFactEvent[]): Promise<Streaming> => {
  let response: ServerResponse | undefined;
  let closed = 0;
  const server = createServer((_request, res) => {
    response = res;
    eventStream({
      res,
      after: 0,
      subscribe: () => ({ facts, progress: () => undefined, [Symbol.dispose]: () => undefined }),
      onClosed: () => (closed += 1),
    });
  });
  const url = await listen(server, { name: 'A stream', host: '127.0.0.1', port: 0, setting: 'none' });
  return {
    url,
    response: () => response,
    closed: () => closed,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
};

afterEach(() => {
  vi.useRealTimers();
});

const GET = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

describe('a client that reads nothing', () => {
  it('makes the gateway buffer little, and is disconnected after a while', async () => {
    await using server = await streaming(manyFacts());
    const socket = openSocket(server.url).pause();
    socket.on('error', () => undefined);
    socket.write(GET);
    const response = await waitFor('the response', () => server.response());
    // Without waiting for a minute.
    response.setTimeout(200);
    const held: number[] = [];
    await waitFor('the end', () => {
      held.push(response.writableLength);
      return server.closed() === 1;
    });
    expect(Math.max(...held)).toBeLessThan(200 * KiB);
    socket.destroy();
  });
});

describe('a client that is slow', () => {
  it('gets all facts in order, while the gateway buffers little', async () => {
    await using server = await streaming(manyFacts());
    const socket = openSocket(server.url);
    socket.write(GET);
    let text = '';
    let most = 0;
    for await (const piece of socket.setEncoding('latin1')) {
      most = Math.max(most, server.response()?.writableLength ?? 0);
      text += String(piece);
    }
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids).toEqual(Array.from({ length: FACTS }, (_, n) => n + 1));
    expect(most).toBeLessThan(200 * KiB);
    await waitFor('the stream to be closed', () => server.closed() === 1);
  });
});

describe('a client of a stream without events', () => {
  it('gets a comment every 15 s', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await using server = await streaming([]);
    const socket = openSocket(server.url).setEncoding('latin1');
    socket.write(GET);
    let text = '';
    socket.on('data', (piece: string) => (text += piece));
    await waitFor('the response', () => server.response());
    for (let comments = 1; comments <= 3; comments += 1) {
      vi.advanceTimersByTime(15_000);
      await waitFor('a comment', () => text.split(': waiting\n\n').length > comments);
    }
    socket.destroy();
    await waitFor('the stream to be closed', () => server.closed() === 1);
  });
});
