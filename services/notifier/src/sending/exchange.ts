import { request as httpRequest, type ClientRequest } from 'node:http';
import { Wanted, type Connections, type WantingOptions } from './connections.ts';
import { SendFailure } from '@runledger/webhooks/outgoing/failure-reason';
import { readResponse, type ReceiverResponse } from './read-response.ts';
import type { Stopwatch } from '@runledger/webhooks/outgoing/stopwatch';
import type { Duplex } from 'node:stream';

const MAX_HEADER_BYTES = 16 * 1_024;
/** Without a limit, 1xx responses could keep the notifier busy until the attempt times out. */
const MAX_INTERIM_RESPONSES = 32;

/** Body and headers are sent as they are. The sender adds Host, Content-Length and the headers of the connection. */
export interface OutgoingRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ExchangeParts {
  readonly connections: Connections;
  /** Receiver and addresses. A connection is used again only under the same key. */
  readonly key: string;
  readonly open: () => Promise<Duplex>;
  readonly clock: Stopwatch;
  readonly signal: AbortSignal;
}

/**
 * Sends the request and reads its response. The receiver may have closed a kept connection just before it is used: that is
 * no failure, and the request is sent once more on a new one.
 */
export const exchange = async (
  outgoing: OutgoingRequest,
  parts: ExchangeParts,
): Promise<ReceiverResponse> => {
  const { connections, key, open } = parts;
  if (!connections.hasIdle(key)) return sendRequest(outgoing, new Wanted(key, await open()), parts);
  try {
    return await sendRequest(outgoing, new Wanted(key), parts);
  } catch (error) {
    if (!(error instanceof StaleConnection) || parts.signal.aborted) throw error;
    connections.dropIdle(key);
    return await sendRequest(outgoing, new Wanted(key, await open()), parts);
  }
};

class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
  readonly code = 'ECONNRESET';
}

const sendRequest = async (
  outgoing: OutgoingRequest,
  wanted: Wanted,
  parts: ExchangeParts,
): Promise<ReceiverResponse> => {
  const { clock, signal } = parts;
  const { promise, resolve, reject } = Promise.withResolvers<ReceiverResponse>();
  const request = startRequest(outgoing, wanted, parts.connections);
  let interim = 0;
  request.once('socket', () => clock.enter('wait'));
  request.on('information', () => {
    interim += 1;
    if (interim > MAX_INTERIM_RESPONSES) request.destroy(tooManyInterim(outgoing.url));
  });
  request.once('upgrade', (_response, socket) => {
    socket.destroy();
    reject(
      new SendFailure(
        'malformed_answer',
        `${outgoing.url.host} switched protocols (101), which was not requested.`,
      ),
    );
  });
  request.once('response', (response) => {
    clock.enter('body');
    resolve(readResponse(request, response));
  });
  request.on('error', (error) =>
    reject(interim === 0 && isStale(request, error) ? new StaleConnection() : error),
  );
  const abort = (): void => {
    request.destroy(new Error('The attempt has ended'));
  };
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  request.end(outgoing.body);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

const startRequest = (outgoing: OutgoingRequest, wanted: Wanted, connections: Connections): ClientRequest => {
  const { url, headers, body } = outgoing;
  const options: WantingOptions = {
    agent: connections,
    wanted,
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    headers: {
      ...headers,
      host: url.host,
      'content-length': body.byteLength,
      'accept-encoding': 'identity',
    },
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
  };
  try {
    return httpRequest(options);
  } finally {
    wanted.dropUntaken();
  }
};

const isStale = (request: ClientRequest, error: Error): boolean =>
  request.reusedSocket && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

const tooManyInterim = (url: URL): SendFailure =>
  new SendFailure(
    'malformed_answer',
    `${url.host} sent more than ${MAX_INTERIM_RESPONSES} interim answers (1xx) and no final one.`,
  );
