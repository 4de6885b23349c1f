import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/** No notification is larger. */
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 64;
const REQUEST_WITHIN_MS = 15_000;

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Undefined closes the connection without an answer. */
export type Receive = (request: ReceivedRequest) => Promise<Reply | undefined>;

export interface OpenReceiver extends AsyncDisposable {
  readonly port: number;
}

/** Receives POST requests at every path of a port of loopback. @throws the error that prevents listening */
export const openReceiver = async (port: number, receive: Receive): Promise<OpenReceiver> => {
  const server = createServer(
    { requestTimeout: REQUEST_WITHIN_MS, headersTimeout: REQUEST_WITHIN_MS },
    (request, response) => {
      answer(request, response, receive).catch(() => {
        // The sender disconnected early, or the request cannot be shown. The sender may repeat it.
        if (response.headersSent) response.destroy();
        else reply(response, { status: 500, text: 'The notification could not be received.' });
      });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
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
  receive: Receive,
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
  const chosen = await receive({ path: request.url ?? '/', headers: request.headers, body });
  if (chosen === undefined) request.socket.destroy();
  else reply(response, chosen);
};

/** Closes the connection after a request that was not read to its end. */
const reply = (response: ServerResponse, { status, text }: Reply): void => {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    ...(response.req.complete ? {} : { connection: 'close' }),
  });
  response.end(`${text}\n`);
};

/** Undefined if the body is too large. */
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
