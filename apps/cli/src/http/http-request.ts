import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { addAbortSignal, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal?: AbortSignal;
}

/**
 * Sends a request, and resolves when the head of its response is there. The body is text that the caller reads, or leaves with `resume`.
 * Rejects without a response. Redirects are not followed: the key is for one service. The modules of `fetch` take longer to load than
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
  // Whoever waits for the response, or reads it, gets the error too.
  sent.on('error', () => undefined);
  if (body === undefined || typeof body === 'string') sent.end(body);
  else void pipeline(body, sent).catch(() => undefined);
  const [response] = (await responded) as [IncomingMessage];
  if (signal) addAbortSignal(signal, response);
  return response.setEncoding('utf8');
};
