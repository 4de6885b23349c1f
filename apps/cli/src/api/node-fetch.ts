import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { addAbortSignal, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** In milliseconds. Whatever a request waits for, a server that accepts no connection in this time is not there. */
const CONNECT_WITHIN_MS = 5_000;

/**
 * The `fetch` of the client of the API, by the module `http` of Node: that of Node takes longer to load than everything else that a
 * command does. It rejects without a connection after 5 s, and follows no redirect. A body is a text or a file. Its response has what
 * the client reads of one.
 */
export const nodeFetch = async (
  address: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> => {
  const { method = 'GET', body, signal } = init;
  // The client gives a text.
  const url = address as string;
  const isSecure = url.startsWith('https:');
  const { request } = isSecure ? await import('node:https') : await import('node:http');
  const file = body instanceof Blob ? body : undefined;
  const written = typeof body === 'string' ? body : undefined;
  const length = file?.size ?? (written === undefined ? undefined : Buffer.byteLength(written));
  const headers = {
    ...(init.headers as Readonly<Record<string, string>>),
    ...(length !== undefined && { 'content-length': String(length) }),
  };
  const sent = request(url, { method, headers, ...(signal && { signal }) });
  const responded = once(sent, 'response');
  limitConnecting(sent, isSecure ? 'secureConnect' : 'connect');
  // Whoever waits for the response, or reads it, gets the error too.
  sent.on('error', () => undefined);
  if (file) void pipeline(Readable.from(file.stream()), sent).catch(() => undefined);
  else sent.end(written);
  const [message] = (await responded) as [IncomingMessage];
  if (signal) addAbortSignal(signal, message);
  return responseOf(message);
};

const limitConnecting = (sent: ClientRequest, connected: 'connect' | 'secureConnect'): void => {
  sent.once('socket', (socket) => {
    if (!socket.connecting) return;
    const late = new Error(`it accepted no connection within ${CONNECT_WITHIN_MS / 1_000} s`);
    const inTime = whenLate(CONNECT_WITHIN_MS, () => sent.destroy(late));
    socket.once(connected, inTime).once('close', inTime);
  });
};

const responseOf = (message: IncomingMessage): Response => {
  const { statusCode: status = 0 } = message;
  const read = {
    type: 'default',
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name: string) => message.headers[name.toLowerCase()]?.toString() ?? null },
    text: () => text(message),
    get body() {
      return Readable.toWeb(message);
    },
  };
  return read as unknown as Response;
};

/**
 * Calls `late` after this many milliseconds, unless what it returns is called before. What has arrived by then is handled first, since
 * this process, and not the server, may have stood still.
 */
export const whenLate = (ms: number, late: () => void): (() => void) => {
  let isOver = false;
  const timer = setTimeout(() => setImmediate(() => isOver || late()), ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
};
