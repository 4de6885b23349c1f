import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  request as httpRequest,
  type ServerResponse,
} from 'node:http';
import type { Server, Socket } from 'node:net';
import type { OpenChecked } from '@runledger/webhooks/checked-connection';
import { pipeline } from 'node:stream';
import {
  failureOf,
  failureOfEnd,
  type Failure,
  startStopwatch,
  limitTime,
} from '@runledger/webhooks/failure-reason';
import { endToEndHeaders, requestTarget, tunnelTarget } from './proxy-messages.decide.ts';

/**
 * The way out for programs whose network is `outgoing`: a proxy for HTTP, and by CONNECT for everything over TCP. It runs in the executor, which
 * resolves names and applies the policy for addresses; programs reach it at a listener on their loopback, which their supervisor hands over.
 */
export interface OutgoingProxy {
  /** For the programs of one supervisor. */
  open(): ProgramConnections;
}

/** The connections of the programs of one supervisor, which has one program at a time. */
export interface ProgramConnections {
  /** From now on, what connects to the listener is served. */
  serve(listener: Server): void;
  /** A program begins: until it ends, it may connect. */
  begin(): void;
  /** Nothing of the program is left: ends all connections, at both sides. */
  end(): void;
  /** There will be no program any more. */
  close(): void;
}

/** Of one program at once. Each holds at most about 256 KiB here, in both directions. */
const MAX_CONNECTIONS = 256;
/** More that are told so; what comes on top of that is reset. */
const MAX_REFUSED = 64;
const REFUSED_WITHIN_MS = 5_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Without any byte in either direction. A server may compute for long before it answers. */
const IDLE_MS = 600_000;
const KEEP_ALIVE_MS = 60_000;

export const openOutgoingProxy = (open: OpenChecked): OutgoingProxy => {
  const server = openServer(open);
  return { open: () => openConnections(server) };
};

/** It listens nowhere, and is given connections. */
const openServer = (open: OpenChecked): HttpServer => {
  const connect = connectOutgoing(open);
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS });
  server.timeout = IDLE_MS;
  server.on('request', (request, response) => void forwardRequest(connect, request, response));
  // On a server, the connection is a socket.
  server.on('connect', (request: IncomingMessage, _duplex, early: Buffer) => {
    const { socket } = request;
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    void openTunnel(connect, request.url ?? '', socket, early);
  });
  return server;
};

const openConnections = (server: HttpServer): ProgramConnections => {
  const connections = new Set<Socket>();
  let hasProgram = false;
  let served: Server | null = null;
  let isClosed = false;

  const take = (socket: Socket): void => {
    socket.on('error', () => undefined);
    // It waited to be accepted when its program ended.
    if (!hasProgram || connections.size >= MAX_CONNECTIONS + MAX_REFUSED) return void socket.destroy();
    const isTooMany = connections.size >= MAX_CONNECTIONS;
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    if (isTooMany) return refuseConnection(socket);
    // Who has sent everything may still receive.
    socket.allowHalfOpen = true;
    server.emit('connection', socket);
  };
  const end = (): void => {
    hasProgram = false;
    for (const socket of connections) socket.destroy();
  };
  return {
    serve: (listener) => {
      // The supervisor may have ended meanwhile.
      if (isClosed) return void listener.close();
      served = listener;
      listener.on('connection', take).on('error', () => undefined);
    },
    begin: () => void (hasProgram = true),
    end,
    close: () => {
      isClosed = true;
      end();
      served?.close();
    },
  };
};

/** Once it has sent something: closing what was not read would reset the answer, too. */
const refuseConnection = (socket: Socket): void => {
  const why = `A program may have ${MAX_CONNECTIONS} outgoing connections at once.`;
  socket.setTimeout(REFUSED_WITHIN_MS, () => socket.destroy());
  socket.once('data', () => socket.end(refusalText({ status: 503, why }), () => socket.destroy()));
};

const MAX_ANSWER_HEADER_BYTES = 64 * 1024;

/** Answers a request with an absolute http URL as the server of that URL does. One connection to the server for each. */
const forwardRequest = async (
  connect: ConnectOutgoing,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const url = requestTarget(request.url ?? '');
  const upstream = url === null ? NO_REQUEST_TARGET : await connect(url, request.socket);
  if (url === null || 'why' in upstream)
    return refuseRequest(response, 'why' in upstream ? upstream : NO_REQUEST_TARGET);
  const outgoing = httpRequest({
    method: request.method ?? 'GET',
    path: `${url.pathname}${url.search}`,
    headers: [...endToEndHeaders(request.rawHeaders, ['host']), 'Host', url.host, 'Connection', 'close'],
    // With this there is no agent, which could use a connection again.
    createConnection: () => upstream,
    maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
    insecureHTTPParser: false,
  });
  response.once('close', () => upstream.destroy());
  outgoing.on('response', (incoming) => {
    // How its end is marked is a matter of each connection.
    const headers = endToEndHeaders(incoming.rawHeaders, ['transfer-encoding']);
    response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, headers);
    pipeline(incoming, response, () => undefined);
  });
  outgoing.on('error', (error) => brokenOff(response, url, upstream, error));
  pipeline(request, outgoing, () => undefined);
};

const NO_REQUEST_TARGET: Refusal = {
  status: 400,
  why: 'This is the proxy of a program: it takes CONNECT, and requests with an absolute http:// URL.',
};

const brokenOff = (response: ServerResponse, url: URL, upstream: Socket, error: Error): void => {
  upstream.destroy();
  const code = 'code' in error ? String(error.code) : error.name;
  // What has begun breaks off as the server did.
  if (response.headersSent) return;
  refuseRequest(response, {
    status: 502,
    why: `${url.host} closed the connection before it answered (${code}).`,
  });
};

const refuseRequest = (response: ServerResponse, { status, why }: Refusal): void => {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end(`${why}\n`);
};

/** Answers CONNECT: everything after the answer passes through in both directions, each as fast as the other side takes it. */
const openTunnel = async (
  connect: ConnectOutgoing,
  authority: string,
  client: Socket,
  early: Buffer,
): Promise<void> => {
  const url = tunnelTarget(authority);
  const upstream = url === null ? NO_TUNNEL_TARGET : await connect(url, client);
  if ('why' in upstream) return void client.end(refusalText(upstream), () => client.destroySoon());
  // Each direction ends by itself.
  upstream.allowHalfOpen = true;
  if (early.length > 0) client.unshift(early);
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  // When one side breaks off, so does the other.
  pipeline(client, upstream, () => undefined);
  pipeline(upstream, client, () => undefined);
};

const NO_TUNNEL_TARGET: Refusal = {
  status: 400,
  why: 'CONNECT wants a host and a port, such as example.com:443.',
};

/** A whole answer. The reason is in its first line too: of an answer to CONNECT, most clients show nothing else. */
const refusalText = ({ status, why }: Refusal): string => {
  const reason = why.replaceAll(/[^\x20-\x7e]/g, '?');
  const headers = [
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(why) + 1}`,
  ];
  return [`HTTP/1.1 ${status} ${reason}`, ...headers, 'Connection: close', '', `${why}\n`].join('\r\n');
};

/** Why a program gets no connection: the status of the answer, and a sentence for its author. */
interface Refusal {
  readonly status: number;
  readonly why: string;
}

/** A connection to host and port of a URL. `client` is the connection of the program: nothing is opened for one that is gone. */
type ConnectOutgoing = (url: URL, client: Socket) => Promise<Socket | Refusal>;

const CONNECT_WITHIN_MS = 30_000;

/** Never rejects. */
const connectOutgoing =
  (open: OpenChecked): ConnectOutgoing =>
  async (url, client) => {
    const gone = new AbortController();
    const abort = (): void => gone.abort();
    client.once('close', abort);
    if (client.destroyed) abort();
    using limit = limitTime(CONNECT_WITHIN_MS, [gone.signal]);
    const clock = startStopwatch('dns');
    try {
      // Path and user are for the server alone.
      const socket = await open(new URL(url.origin), clock, limit.signal);
      socket.on('error', () => undefined);
      return socket;
    } catch (error) {
      return refusalOf(
        limit.ended === undefined
          ? failureOf(error, clock.stage, url.host)
          : failureOfEnd(limit.ended, clock.stage, url.host, CONNECT_WITHIN_MS),
      );
    } finally {
      client.off('close', abort);
    }
  };

const refusalOf = ({ reason, message }: Failure): Refusal => {
  if (reason === 'forbidden')
    return { status: 403, why: `A program may not connect to this address: ${message}` };
  return { status: reason === 'connect_timed_out' ? 504 : 502, why: message };
};
