import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { addAbortSignal, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { whenLate } from './when-late.ts';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal?: AbortSignal;
}

/** In milliseconds. Whatever a request waits for, a server that accepts no connection in this time is not there. */
const CONNECT_WITHIN_MS = 5_000;

/**
 * Sends a request, and resolves when the head of its response is there. The body is text that the caller reads, or leaves with `resume`.
 * Rejects without a response, and without a connection after 5 s. Redirects are not followed: the key is for one service. The modules of `fetch` take longer to load than
 * everything else that a command does.
 */
export const sendRequest = async (
  address: string,
  { method, headers, body, signal }: HttpRequest,
): Promise<IncomingMessage> => {
  const isSecure = address.startsWith('https:');
  const { request } = isSecure ? await import('node:https') : await import('node:http');
  const length = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : undefined;
  const sent = request(address, { method, headers: { ...headers, ...length }, ...(signal && { signal }) });
  const responded = once(sent, 'response');
  limitConnecting(sent, isSecure ? 'secureConnect' : 'connect');
  // Whoever waits for the response, or reads it, gets the error too.
  sent.on('error', () => undefined);
  if (body === undefined || typeof body === 'string') sent.end(body);
  else void pipeline(body, sent).catch(() => undefined);
  const [response] = (await responded) as [IncomingMessage];
  if (signal) addAbortSignal(signal, response);
  return response.setEncoding('utf8');
};

const limitConnecting = (sent: ClientRequest, connected: 'connect' | 'secureConnect'): void => {
  sent.once('socket', (socket) => {
    if (!socket.connecting) return;
    const late = new Error(`it accepted no connection within ${CONNECT_WITHIN_MS / 1_000} s`);
    const inTime = whenLate(CONNECT_WITHIN_MS, () => sent.destroy(late));
    socket.once(connected, inTime).once('close', inTime);
  });
};
