import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** No notification is as large. */
const MAX_BODY_BYTES = 1024 * 1024;
const MOST_CONNECTIONS = 64;
const REQUEST_WITHIN_MS = 15_000;

export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Serves POST at every path of a port of this machine alone, and answers as `receive` says. @throws what keeps it from listening */
export const openReceiver = async (
  port: number,
  receive: (received: Received) => Promise<Reply>,
): Promise<AsyncDisposable & { readonly port: number }> => {
  const server = createServer(
    { requestTimeout: REQUEST_WITHIN_MS, headersTimeout: REQUEST_WITHIN_MS },
    (request, response) => {
      answer(request, response, receive).catch(() => {
        // The sender went away in the middle, or what it sent cannot be shown: it may send it again.
        if (response.headersSent) response.destroy();
        else reply(response, { status: 500, text: 'The notification could not be received.' });
      });
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: portOf(server),
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  receive: (received: Received) => Promise<Reply>,
): Promise<void> => {
  if (request.method !== 'POST') {
    reply(response, { status: 405, text: 'Notifications come by POST.' });
    return;
  }
  const body = await readBody(request);
  if (body === undefined) {
    reply(response, { status: 413, text: `More than ${MAX_BODY_BYTES} bytes.` });
    return;
  }
  reply(response, await receive({ path: request.url ?? '/', headers: request.headers, body }));
};

/** The connection is not used again after a request that was not read to its end. */
const reply = (response: ServerResponse, { status, text }: Reply): void => {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    ...(response.req.complete ? {} : { connection: 'close' }),
  });
  response.end(`${text}\n`);
};

/** Undefined when it is too large. */
const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) throw new Error('A request without an encoding gave no bytes.');
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return address.port;
};
