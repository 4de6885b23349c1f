import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** Receivers of the scenario's notifications. Each is a URL. */
export interface Receivers extends AsyncDisposable {
  readonly good: string;
  /** Fails at the first attempt of each run, and at the second one of the first run too. */
  readonly weak: string;
  /** Refuses connections until it comes back. */
  readonly down: string;
  readonly comeBack: () => Promise<void>;
  /** Wants no more notifications. */
  readonly gone: string;
}

const HOST = '127.0.0.1';

export const openReceivers = async (): Promise<Receivers> => {
  await using open = new AsyncDisposableStack();
  const opened = async (statusFor: (run_id: string) => number): Promise<Receiver> => {
    const receiver = await openReceiver(statusFor);
    open.defer(() => close(receiver.server));
    return receiver;
  };
  const attempts = new Map<string, number>();
  const [good, weak, down, gone] = await Promise.all([
    opened(() => 200),
    opened((run_id) => {
      const before = attempts.get(run_id) ?? 0;
      attempts.set(run_id, before + 1);
      const [first] = attempts.keys();
      return before < (run_id === first ? 2 : 1) ? 503 : 200;
    }),
    opened(() => 200),
    opened(() => 410),
  ]);
  await close(down.server);
  const kept = open.move();
  return {
    good: urlAt(good),
    weak: urlAt(weak),
    down: urlAt(down),
    comeBack: async () => void (await once(down.server.listen(down.port, HOST), 'listening')),
    gone: urlAt(gone),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

interface Receiver {
  readonly server: Server;
  readonly port: number;
}

const urlAt = ({ port }: Receiver): string => `http://${HOST}:${port}/`;

const openReceiver = async (statusFor: (run_id: string) => number): Promise<Receiver> => {
  const server = createServer((request, response) => {
    void runOf(request).then((run_id) => response.writeHead(statusFor(run_id)).end());
  });
  await once(server.listen(0, HOST), 'listening');
  // A listening TCP server has such an address.
  const { port } = server.address() as AddressInfo;
  return { server, port };
};

const runOf = async (request: IncomingMessage): Promise<string> => String(Object(await json(request)).run_id);

const close = async (server: Server): Promise<void> => {
  if (!server.listening) return;
  server.closeAllConnections();
  await once(server.close(), 'close');
};
