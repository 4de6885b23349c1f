import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { unlessAborted } from '@runledger/resilience/abort';
import { mayConnect, type ResolvingParts } from '../policy/resolve-callback.ts';
import { readProxy } from './proxy-tunnel.ts';
import { resolveChecked } from './resolve-checked.ts';
import { allowedAddresses, openRoute, routeTo, type RouteParts } from './route.ts';
import type { Stopwatch } from './stopwatch.ts';

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
