import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { all, compile } from 'proxy-addr';

/** The address of the client; undefined when the connection is closed already. */
export type ClientAddress = (req: IncomingMessage) => string | undefined;

/**
 * Reads `X-Forwarded-For` from its end, while the writer of the next address is a trusted proxy: an untrusted host may
 * have written anything before its own address. Reading also ends at a text that is not an address.
 */
export const clientAddress = (trustedProxies: readonly string[]): ClientAddress => {
  const isTrusted = compile([...trustedProxies]);
  return (req) => {
    const { remoteAddress } = req.socket;
    if (remoteAddress === undefined) return undefined;
    if (req.headers['x-forwarded-for'] === undefined) return plain(remoteAddress);
    const hops = all(req, (hop, index) => isIP(hop) !== 0 && isTrusted(hop, index));
    const last = hops.findLast((hop) => isIP(hop) !== 0);
    return last === undefined ? undefined : plain(last);
  };
};

/** An IPv4 address as such, also on a socket of both families; without the name of an interface. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
