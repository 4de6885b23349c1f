import { createServer, type IncomingMessage, type Server as HttpServer } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { OpenChecked } from '@runledger/webhooks/outgoing/checked-connection';
import { connectOutgoing } from './connect-outgoing.ts';
import { forwardRequest } from './forward-request.ts';
import { openTunnel, refusalText } from './open-tunnel.ts';

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
