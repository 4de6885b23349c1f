import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { unlessAborted } from '@runledger/resilience/abort';
import {
  mayConnect,
  type ResolvingParts,
  resolveChecked,
  type CallbackAddresses,
} from './resolve-callback.ts';
import { readProxy, connectTo, secure, openTunnel, type EgressProxy } from './proxy-tunnel.ts';
import { type Stopwatch, SendFailure } from './failure-reason.ts';

export interface Egress extends ResolvingParts {
  /** Everything goes through it by CONNECT. */
  readonly proxy: URL | undefined;
}

/** A new connection to the host of a URL, with TLS if the URL says so. */
export type OpenChecked = (url: URL, clock: Stopwatch, signal: AbortSignal) => Promise<Socket>;

/**
 * Connections whose address the policy was asked for, and whose peer was checked before anything is sent. They reject with what `failureOf`
 * describes, and with the reason of the signal.
 * @throws {RangeError} for an invalid proxy
 */
export const openChecked = (egress: Egress): OpenChecked => {
  const resolve = resolveChecked(egress);
  const parts: RouteParts = {
    mayConnect: (host, address, port) => mayConnect(egress.policy, host, address, port),
    proxy: egress.proxy && readProxy(egress.proxy),
    secureContext: createSecureContext({ minVersion: 'TLSv1.2' }),
  };
  return async (url, clock, signal) => {
    signal.throwIfAborted();
    const found = await unlessAborted(resolve(url, signal), signal);
    return openRoute(routeTo(url, allowedAddresses(found)), { ...parts, clock, signal });
  };
};

/** Where a request goes: a host, and the addresses that were checked for it. */
interface Route {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly addresses: readonly string[];
  /** Two attempts with the same key may share a connection. */
  readonly key: string;
}

export interface RouteParts {
  readonly mayConnect: (host: string, address: string, port: number) => boolean;
  readonly proxy: EgressProxy | undefined;
  readonly secureContext: SecureContext;
}

export const routeTo = (url: URL, addresses: readonly string[]): Route => {
  const secure = url.protocol === 'https:';
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    secure,
    addresses,
    key: `${url.origin} ${addresses.toSorted().join(' ')}`,
  };
};

/** A new connection, ready for a request. Its peer is checked before anything is sent. */
export const openRoute = async (
  route: Route,
  parts: RouteParts & { readonly clock: Stopwatch; readonly signal: AbortSignal },
): Promise<Socket> => {
  const { clock, signal, proxy, secureContext } = parts;
  const { host, port, addresses } = route;
  clock.enter('connect');
  if (addresses.length === 0) throw new SendFailure('name_not_found', `${host} has no address.`);
  // An address in the URL is never looked up, and a proxy's peer is the proxy, so all addresses are checked first, too.
  for (const address of addresses) checkPeer(route, address, parts.mayConnect);
  const socket = proxy
    ? await openTunnel(proxy, addresses, port, parts)
    : await connectChecked(route, parts.mayConnect, signal);
  if (!route.secure) return socket;
  clock.enter('tls');
  return secure(socket, host, secureContext, signal);
};

const connectChecked = async (
  route: Route,
  mayConnect: RouteParts['mayConnect'],
  signal: AbortSignal,
): Promise<Socket> => {
  const socket = await connectTo(route.addresses, route.port, signal);
  try {
    checkPeer(route, socket.remoteAddress, mayConnect);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
};

const checkPeer = (
  { host, port }: Route,
  address: string | undefined,
  mayConnect: RouteParts['mayConnect'],
): void => {
  // The system does not know the peer of a closed connection.
  if (address === undefined)
    throw new SendFailure('connect_failed', `${host} closed the connection at once.`);
  if (!mayConnect(host, address, port)) {
    throw new SendFailure(
      'forbidden',
      `The webhook policy does not allow a connection to an address of ${host} at port ${port}.`,
    );
  }
};

/** @throws {SendFailure} when there is none, or the policy forbids one */
export const allowedAddresses = (found: CallbackAddresses): readonly string[] => {
  switch (found.kind) {
    case 'allowed':
      return found.addresses;
    case 'forbidden':
      throw new SendFailure('forbidden', found.why);
    case 'not_found':
      throw new SendFailure('name_not_found', found.why);
    case 'unanswered':
      throw new SendFailure('name_unanswered', found.why);
    case 'no_server':
      throw new SendFailure('no_dns', found.why);
  }
};
