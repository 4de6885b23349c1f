import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { all, compile } from 'proxy-addr';

/** The address of the client; undefined when the connection is gone already. */
export type ClientAddress = (req: IncomingMessage) => string | undefined;

/**
 * `X-Forwarded-For` is read from its end, for as long as whoever wrote the next address is trusted: what stands before
 * the first stranger is what that stranger says. It also ends before whatever is no address.
 */
export const clientAddress = (trustedProxies: readonly string[]): ClientAddress => {
  const isTrusted = compile([...trustedProxies]);
  return (req) => {
    if (req.socket.remoteAddress === undefined) return undefined;
    const hops = all(req, (hop, index) => isIP(hop) !== 0 && isTrusted(hop, index));
    const last = hops.findLast((hop) => isIP(hop) !== 0);
    return last === undefined ? undefined : plain(last);
  };
};

/** An IPv4 address as such, also on a socket of both families; without the name of an interface. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
