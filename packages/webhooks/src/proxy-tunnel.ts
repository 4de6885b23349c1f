import { request as httpRequest } from 'node:http';
import { isIP, type Socket, connect as openSocket, type LookupFunction } from 'node:net';
import { type SecureContext, connect as openTls } from 'node:tls';
import { SendFailure, type Stopwatch } from './failure-reason.ts';

/** The forward proxy for all requests, when the operator set one. */
export interface EgressProxy {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly authorization: string | undefined;
}

/** @throws {RangeError} for an invalid URL of a proxy. Its message contains no credentials. */
export const readProxy = (url: URL): EgressProxy => {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new RangeError(
      `The URL of the egress proxy begins with ${url.protocol}//, which is not supported: write http://user:password@host:port, or https://.`,
    );
  }
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const credentials = url.username === '' && url.password === '' ? undefined : credentialsOf(url);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port,
    secure,
    authorization: credentials && `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
};

const credentialsOf = (url: URL): string => {
  try {
    return `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw new RangeError(
      'The user or password of the egress proxy is not percent-encoded correctly: write % as %25.',
    );
  }
};

interface TunnelParts {
  readonly secureContext: SecureContext;
  readonly clock: Stopwatch;
  readonly signal: AbortSignal;
}

/**
 * A connection through the proxy to one of these addresses. The proxy gets addresses, never names, so that it connects to
 * what was checked. They are tried in turn, IPv4 first, since many proxies have nothing else.
 */
export const openTunnel = async (
  proxy: EgressProxy,
  addresses: readonly string[],
  port: number,
  parts: TunnelParts,
): Promise<Socket> => {
  const [first, ...others] = addresses.toSorted((one, other) => isIP(one) - isIP(other));
  if (first === undefined) throw new SendFailure('name_not_found', 'The receiver has no address.');
  try {
    return await tunnelTo(proxy, first, port, parts);
  } catch (error) {
    const unreached = error instanceof SendFailure && error.reason !== 'proxy_failed';
    if (!unreached || others.length === 0) throw error;
    return openTunnel(proxy, others, port, parts);
  }
};

const tunnelTo = async (
  proxy: EgressProxy,
  address: string,
  port: number,
  { secureContext, clock, signal }: TunnelParts,
): Promise<Socket> => {
  clock.enter('proxy');
  const plain = await connectToHost(proxy.host, proxy.port, signal);
  const socket = proxy.secure ? await secure(plain, proxy.host, secureContext, signal) : plain;
  clock.enter('connect');
  try {
    await requestTunnel(proxy, socket, `${isIP(address) === 6 ? `[${address}]` : address}:${port}`, signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
};

const requestTunnel = async (
  proxy: EgressProxy,
  socket: Socket,
  target: string,
  signal: AbortSignal,
): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const request = httpRequest({
    method: 'CONNECT',
    path: target,
    headers: {
      host: target,
      connection: 'keep-alive',
      ...(proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization }),
    },
    createConnection: () => socket,
    maxHeaderSize: 16 * 1_024,
    insecureHTTPParser: false,
  });
  const abort = (): void => {
    reject(signal.reason);
    request.destroy();
  };
  request.on('error', (error) =>
    reject(
      new SendFailure(
        'proxy_failed',
        `The egress proxy gave no answer to CONNECT (${'code' in error ? String(error.code) : error.name}). Check that it is a proxy.`,
      ),
    ),
  );
  request.once('connect', (response, _socket, early: Buffer) => {
    const failure = refusal(response.statusCode ?? 0);
    if (failure !== undefined) return reject(failure);
    if (early.byteLength > 0) socket.unshift(early);
    return resolve(undefined);
  });
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  request.end();
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

/** A proxy that did not reach the receiver answers 502, 503 or 504. Any other refusal is the proxy's own. */
const refusal = (status: number): SendFailure | undefined => {
  if (status >= 200 && status < 300) return undefined;
  switch (status) {
    case 502:
    case 503:
      return new SendFailure('connect_failed', `The egress proxy could not reach the receiver (${status}).`);
    case 504:
      return new SendFailure(
        'connect_timed_out',
        'The receiver accepted no connection from the egress proxy (504).',
      );
    case 407:
      return new SendFailure(
        'proxy_failed',
        'The egress proxy wants other credentials (407). Check user and password in its setting.',
      );
  }
  return new SendFailure(
    'proxy_failed',
    `The egress proxy refused the connection (${status}). Check what it allows.`,
  );
};

/** Each address but the last gets this long before the next one is tried. Families alternate. */
const ADDRESS_WITHIN_MS = 500;

/** Connects to one of these addresses, without a name lookup. */
export const connectTo = async (
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> => {
  const [only, ...others] = addresses;
  return opened(
    openSocket({
      port,
      noDelay: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_WITHIN_MS,
      // This name is never resolved. Only a lookup can give a connection several addresses.
      ...(others.length === 0 ? { host: only } : { host: 'pinned.invalid', lookup: pinned(addresses) }),
    }),
    'connect',
    signal,
  );
};

/** Connects to a host whose name the system resolves. */
const connectToHost = async (host: string, port: number, signal: AbortSignal): Promise<Socket> =>
  opened(openSocket({ host, port, noDelay: true }), 'connect', signal);

/** TLS 1.2 or newer over a connection, with every check of the certificate, which must be for `host`. */
export const secure = async (
  socket: Socket,
  host: string,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<Socket> => {
  const name = host.replace(/\.$/, '');
  return opened(
    openTls({
      socket,
      host: name,
      // An address must not be sent as a server name (RFC 6066). The certificate is checked against `host`.
      servername: isIP(name) === 0 ? name : '',
      secureContext,
      minVersion: 'TLSv1.2',
      // Explicit, because an environment variable could turn it off.
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    }),
    'secureConnect',
    signal,
  );
};

const pinned =
  (addresses: readonly string[]): LookupFunction =>
  (_name, _options, answer) =>
    answer(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );

/** Returns the socket when it is open. Destroys it when that fails or is aborted. */
const opened = async <Opening extends Socket>(
  socket: Opening,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<Opening> => {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const open = (): void => resolve(undefined);
  const closed = (): void => reject(new ClosedEarly());
  const aborted = (): void => reject(signal.reason);
  // It stays for the socket's life: between two requests, an error without a listener would end the process.
  socket.on('error', reject);
  socket.once(event, open).once('close', closed);
  signal.addEventListener('abort', aborted);
  if (signal.aborted) aborted();
  try {
    await promise;
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off(event, open).off('close', closed);
    signal.removeEventListener('abort', aborted);
  }
};

class ClosedEarly extends Error {
  override readonly name = 'ClosedEarly';
  readonly code = 'ECONNRESET';
}
