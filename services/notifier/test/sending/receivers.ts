import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';

/** A receiver on a real port of 127.0.0.1 (or another loopback address). */
export interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly url: URL;
  /** Connections that are open now, and that were ever taken. */
  open(): number;
  taken(): number;
  /** Ends all connections, without a word. */
  cut(): void;
}

/** Sends what `talk` writes, HTTP or not. */
export const rawReceiver = (
  talk: (socket: Socket) => void,
  address?: string,
  port?: number,
): Promise<Receiver> =>
  listen(
    createServer((socket) => {
      talk(socket);
      // A socket that nobody reads would not notice its end.
      socket.resume();
    }),
    'http',
    address,
    port,
  );

export const httpReceiver = (answer: RequestListener, address?: string): Promise<Receiver> =>
  listen(createHttpServer(answer), 'http', address);

export const httpsReceiver = (answer: RequestListener, options: TlsOptions): Promise<Receiver> =>
  listen(createHttpsServer(options, answer), 'https');

/** Waits for the whole head of a request, then sends `answer`. */
export const saying =
  (answer: string | Uint8Array): ((socket: Socket) => void) =>
  (socket) =>
    socket.once('data', () => socket.write(answer));

export const listen = async (
  server: Server,
  scheme: 'http' | 'https',
  address = '127.0.0.1',
  atPort = 0,
): Promise<Receiver> => {
  const open = new Set<Socket>();
  let taken = 0;
  server.prependListener('connection', (socket: Socket) => {
    taken += 1;
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(atPort, address, resolve);
  });
  const { port } = portOf(server.address());
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port,
    url: new URL(`${scheme}://receiver.example:${port}/hooks?secret=path`),
    open: () => open.size,
    taken: () => taken,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
};

const portOf = (address: AddressInfo | string | null): AddressInfo => {
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address;
};
