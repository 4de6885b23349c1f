import { connect as openSocket, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as openTls, type SecureContext } from 'node:tls';

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
export const connectToHost = async (host: string, port: number, signal: AbortSignal): Promise<Socket> =>
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
