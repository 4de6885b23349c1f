import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { SendFailure, type Stopwatch } from '@runledger/webhooks/failure-reason';
import {
  MAX_RESPONSE_EXCERPT_BYTES,
  type DeliveryAttemptResult,
} from '@runledger/contracts/events/webhook-event';
import { Wanted, type Connections, type WantingOptions } from './connections.ts';

const MAX_HEADER_BYTES = 16 * 1_024;
/** Without a limit, 1xx responses could keep the notifier busy until the attempt times out. */
const MAX_INTERIM_RESPONSES = 32;

/** Body and headers are sent as they are. The sender adds Host, Content-Length and the headers of the connection. */
export interface OutgoingRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

interface ExchangeParts {
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

/** The rest of a longer body is not read: the connection is closed. */
const MAX_BODY_BYTES = 64 * 1_024;

/** Seconds or a date are shorter. Anything longer is invalid. */
const MAX_RETRY_AFTER = 64;

export interface ReceiverResponse {
  readonly status: number;
  readonly retry_after: string | null;
  /** The first part of the body as text. */
  readonly answer: string;
}

export const reasonOfStatus = (status: number): DeliveryAttemptResult => {
  if (status === 410) return 'gone';
  if (status === 429) return 'throttled';
  if (status >= 200 && status < 300) return 'accepted';
  if (status >= 300 && status < 400) return 'redirect';
  if (status >= 400 && status < 500) return 'client_error';
  if (status >= 500 && status < 600) return 'server_error';
  return 'malformed_answer';
};

/** Never rejects: the status is known, so a problem with the body is no failure. */
const readResponse = async (request: ClientRequest, response: IncomingMessage): Promise<ReceiverResponse> => {
  const kept = Buffer.alloc(MAX_RESPONSE_EXCERPT_BYTES);
  let read = 0;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  response.on('data', (chunk: Buffer) => {
    if (read < MAX_RESPONSE_EXCERPT_BYTES) chunk.copy(kept, read);
    read += chunk.byteLength;
    if (read > MAX_BODY_BYTES) {
      request.destroy();
      resolve(undefined);
    }
  });
  response.once('end', () => resolve(undefined));
  response.once('close', () => resolve(undefined));
  response.on('error', () => resolve(undefined));
  await promise;
  // The receiver responded before it read the whole request: the rest would hold the connection forever.
  if (!request.writableFinished) request.destroy();
  return {
    status: response.statusCode ?? 0,
    retry_after: retryAfter(response),
    answer: textOf(kept.subarray(0, Math.min(read, MAX_RESPONSE_EXCERPT_BYTES))),
  };
};

const retryAfter = (response: IncomingMessage): string | null => {
  const header = response.headers['retry-after'];
  return header === undefined || header.length > MAX_RETRY_AFTER ? null : header;
};

/** Leaves out a character that was cut in half: a streaming decoder waits for its other half. */
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes, { stream: true });
