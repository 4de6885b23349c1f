import {
  MAX_RESPONSE_EXCERPT_BYTES,
  type DeliveryAttemptResult,
} from '@runledger/contracts/events/delivery-attempt-result';
import type { ClientRequest, IncomingMessage } from 'node:http';

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
export const readResponse = async (
  request: ClientRequest,
  response: IncomingMessage,
): Promise<ReceiverResponse> => {
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
