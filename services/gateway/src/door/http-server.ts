import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { listen } from '@runledger/service-kit/listen';
import type Koa from 'koa';
import { responseTo, type Refusal } from './refusal.ts';
import { isHeldBack } from './json-body.ts';

interface HttpServer extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** After this time a stop ends the requests that are still in progress. */
  readonly finishWithinMs: number;
  /** On responses that Node would write by itself. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the stop begins, before it waits: to end requests that are held open, such as streams. */
  readonly onStopping: () => void;
}

const HEADERS_WITHIN_MS = 15_000;
/** For a whole request, since an upload may take long. The body of an API request has its own limit. */
const REQUEST_WITHIN_MS = 3_600_000;
/** Longer than load balancers keep an idle connection, mostly 60 s: they answer 502 when this side closes it first. */
const IDLE_CONNECTION_FOR_MS = 75_000;
const SWEEP_EVERY_MS = 50;
const MAX_HEADERS_BYTES = 16 * 1024;

/** Serves the app. Responses that Node would write by itself have the form of the API. @throws when it cannot listen */
export const openHttpServer = async (
  app: Koa,
  { host, port, finishWithinMs, headers: ownHeaders, onStopping }: HttpServerOptions,
): Promise<HttpServer> => {
  const connections = new Set<Duplex>();
  /** The last response of a connection. A set of responses would keep many of them from the collections of young garbage. */
  const answering = new WeakMap<Duplex, ServerResponse>();
  const handle = app.callback();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    answering.set(request.socket, response);
    if (!server.listening) closeAfter(response);
    void handle(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADERS_BYTES,
      requireHostHeader: false,
      headersTimeout: HEADERS_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
      keepAliveTimeout: IDLE_CONNECTION_FOR_MS,
      connectionsCheckingInterval: HEADERS_WITHIN_MS / 3,
    },
    serve,
  );
  server.on('connection', (socket: Duplex) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  // Node would answer 100 before anything is checked.
  server.on('checkContinue', serve);
  server.on('clientError', (error, socket) => {
    // A part of a response may be sent already: the client would read anything more as its rest.
    if (answering.get(socket)?.headersSent === true && !answering.get(socket)?.writableFinished)
      socket.destroy();
    else writeRaw(socket, problemOf(error), ownHeaders);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { status, body, headers } = rawAnswer(EXPECTATION_FAILED, ownHeaders);
    response.writeHead(status, headers).end(body);
  });
  server.on('connect', (_request, socket: Duplex) => {
    writeRaw(socket, NO_CONNECT, ownHeaders);
  });
  const url = await listen(server, { name: 'The gateway', host, port, setting: 'RUNLEDGER_PORT' });
  const stop = async (): Promise<void> => {
    const closed = close(server, finishWithinMs);
    for (const connection of connections) closeAfter(answering.get(connection));
    try {
      onStopping();
    } finally {
      await closed;
    }
  };
  return { url, [Symbol.asyncDispose]: stop };
};

/** The client sends its next request on another connection, which another gateway may accept. */
const closeAfter = (response: ServerResponse | undefined): void => {
  if (response?.headersSent === false) response.setHeader('Connection', 'close');
};

const problemOf = (error: Error): Refusal => {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { code: 'headers_too_large', why: 'The headers of the request are too large' };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { code: 'request_too_slow', why: 'The request was not sent in time' };
  }
  return { code: 'malformed_request', why: 'Malformed HTTP/1.1 request' };
};

const EXPECTATION_FAILED: Refusal = {
  code: 'expectation_failed',
  why: 'The only supported value of Expect is "100-continue"',
};

const ALL_METHODS = 'DELETE, GET, HEAD, PATCH, POST, PUT';
const NO_CONNECT: Refusal = {
  code: 'method_not_allowed',
  why: `CONNECT is not allowed: this is no proxy. Allowed: ${ALL_METHODS}.`,
  headers: { Allow: ALL_METHODS },
};

/** The app has not seen the request, so it has no id yet. */
const rawAnswer = (
  problem: Refusal,
  ownHeaders: Readonly<Record<string, string>>,
): { readonly status: number; readonly body: string; readonly headers: Record<string, string> } => {
  const request_id = randomUUID();
  const { status, headers, body: answer } = responseTo(problem, request_id);
  const body = JSON.stringify(answer);
  return {
    status,
    body,
    headers: {
      ...ownHeaders,
      'X-Request-Id': request_id,
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
      ...headers,
    },
  };
};

const writeRaw = (socket: Duplex, problem: Refusal, ownHeaders: Readonly<Record<string, string>>): void => {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body, headers } = rawAnswer(problem, ownHeaders);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.on('error', () => socket.destroy());
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', body].join('\r\n'), () =>
    socket.destroy(),
  );
};

/** Accepts no more requests, finishes those in progress, and ends the rest after a while. */
const close = async (server: Server, finishWithinMs: number): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  // A connection whose last response is sent would be kept alive for another request.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_EVERY_MS);
  const timer = setTimeout(() => server.closeAllConnections(), finishWithinMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
};

const MAX_BYTES = 16 * 1024 * 1024;
const DRAIN_TIMEOUT_MS = 5_000;

/**
 * A client may still send its body when the response is ready. It reads the response only if the server continues to read
 * for a while: closing the connection at once would lose it. The rest of the body is dropped, up to a number of bytes and
 * seconds.
 */
export const drainRequestBody = (req: IncomingMessage, res: ServerResponse): void => {
  if (req.complete) return;
  if (isHeldBack(req)) {
    // The client learns from the response that its body is not wanted, and sends nothing.
    if (!res.headersSent) res.setHeader('Connection', 'close');
    return;
  }
  res.once('prefinish', () => {
    if (req.complete) return;
    let dropped = 0;
    const giveUp = (): void => void req.socket.destroy();
    const timer = setTimeout(giveUp, DRAIN_TIMEOUT_MS).unref();
    const settled = (): void => clearTimeout(timer);
    // Before the response has finished: after it, Node drops an unread body without limit.
    req.on('data', (piece: Buffer) => {
      dropped += piece.byteLength;
      if (dropped > MAX_BYTES) giveUp();
    });
    req.once('end', settled);
    req.once('close', settled);
    req.once('error', settled);
    req.resume();
  });
};
