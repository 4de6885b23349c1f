import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface LossyProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts the connection instead of passing on the next chunk from the server that holds this text. */
  loseNext(text: string): void;
  /** How many chunks were lost so. */
  lost(): number;
}

/** Stands between a client and a server on loopback, and loses what it is told to. */
export const lossyProxy = async (port: number): Promise<LossyProxy> => {
  const sockets = new Set<Socket>();
  let losing: string | undefined;
  let lost = 0;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      if (losing !== undefined && chunk.includes(losing)) {
        losing = undefined;
        lost += 1;
        cut();
      } else {
        client.write(chunk);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an address object, no path.
  const address = server.address() as AddressInfo;
  return {
    url: `nats://127.0.0.1:${address.port}`,
    loseNext: (text) => {
      losing = text;
    },
    lost: () => lost,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
