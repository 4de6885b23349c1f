import { sleep, untilAborted } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { within } from '@runledger/resilience/within';
import { readServerMessage, type ServerMessage } from '../core/server-message.ts';

/** The messages of a server to one client, over connections that are opened again. What is said between two of them is lost. */
export interface ComfySocket extends Disposable {
  /** Resolves when the first connection is open, or cannot be opened now. */
  readonly opened: Promise<void>;
  /** Opens another connection in place of one that is silent. */
  renew(): void;
}

const OPENS_WITHIN_MS = 5_000;
const CLOSES_WITHIN_MS = 5_000;

/** `url` names the client: the server tells it about its own prompts only. */
export const openComfySocket = (url: URL, onMessage: (message: ServerMessage) => void): ComfySocket => {
  const disposed = new AbortController();
  const first = Promise.withResolvers<void>();
  let current: Connection | undefined;
  const keepOpen = async (): Promise<void> => {
    const delays = backoff({ firstMs: 200, longestMs: 5_000 });
    while (!disposed.signal.aborted) {
      current = connect(url, onMessage);
      void current.opened.then(() => delays.reset());
      await untilAborted(Promise.race([current.opened, current.closed]), disposed.signal);
      first.resolve();
      await untilAborted(current.closed, disposed.signal);
      await sleep(delays.next(), disposed.signal);
    }
    current?.close();
  };
  void keepOpen();
  return {
    opened: within(OPENS_WITHIN_MS, first.promise, () => undefined),
    renew: () => current?.close(),
    [Symbol.dispose]: () => disposed.abort(),
  };
};

interface Connection {
  readonly opened: Promise<void>;
  /**
   * It is closed, or does not close in time. Of two connections of one client the older one must be closed before the newer one
   * is opened: else the newer one falls silent.
   */
  readonly closed: Promise<void>;
  close(): void;
}

const connect = (url: URL, onMessage: (message: ServerMessage) => void): Connection => {
  const socket = new WebSocket(url);
  socket.binaryType = 'arraybuffer';
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', () => closed.resolve());
  socket.addEventListener('close', () => closed.resolve());
  // It is always read: a client that does not read keeps the server from telling anybody anything.
  socket.addEventListener('message', ({ data }: MessageEvent) => {
    if (typeof data === 'string') onMessage(readServerMessage(data));
    else if (data instanceof ArrayBuffer) onMessage(readServerMessage(new Uint8Array(data)));
  });
  return {
    opened: opened.promise,
    closed: closed.promise,
    close: () => {
      socket.close();
      setTimeout(() => closed.resolve(), CLOSES_WITHIN_MS).unref();
    },
  };
};
