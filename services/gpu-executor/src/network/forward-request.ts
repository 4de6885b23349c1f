import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { ConnectOutgoing, Refusal } from './connect-outgoing.ts';
import { endToEndHeaders } from './core/end-to-end-headers.ts';
import { requestTarget } from './core/proxy-target.ts';

const MAX_ANSWER_HEADER_BYTES = 64 * 1024;

/** Answers a request with an absolute http URL as the server of that URL does. One connection to the server for each. */
export const forwardRequest = async (
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
