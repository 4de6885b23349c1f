import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from '@runledger/event-log/connect/logger';
import { all, compile } from 'proxy-addr';

export interface ClientAddresses {
  /** The address of the client; undefined when the connection is closed already. */
  readonly of: (req: IncomingMessage) => string | undefined;
  /** The first host that sent `X-Forwarded-For` and is no trusted proxy; undefined while none did. */
  readonly untrusted: () => string | undefined;
}

/**
 * Reads `X-Forwarded-For` from its end, while the writer of the next address is a trusted proxy: an untrusted host may
 * have written anything before its own address. Reading also ends at a text that is not an address. That an untrusted host sent the
 * header is logged once: if it is a proxy after all, all its clients count as one.
 */
export const clientAddresses = (
  trustedProxies: readonly string[],
  logger: Pick<Logger, 'warn'>,
): ClientAddresses => {
  const isTrusted = compile([...trustedProxies]);
  let untrusted: string | undefined;
  const noteUntrusted = (address: string): void => {
    if (untrusted !== undefined || isTrusted(address, 0)) return;
    untrusted = plain(address);
    logger.warn(
      { proxy: untrusted },
      'X-Forwarded-For came from a host that is no trusted proxy, so it is ignored: all who come through it count as one client, whose sign-ins are limited together. If it is your proxy, name it in RUNLEDGER_TRUSTED_PROXIES; if not, a client tried to hide its address. This is logged once',
    );
  };
  return {
    of: (req) => {
      const { remoteAddress } = req.socket;
      if (remoteAddress === undefined) return undefined;
      if (req.headers['x-forwarded-for'] === undefined) return plain(remoteAddress);
      noteUntrusted(remoteAddress);
      const hops = all(req, (hop, index) => isIP(hop) !== 0 && isTrusted(hop, index));
      const last = hops.findLast((hop) => isIP(hop) !== 0);
      return last === undefined ? undefined : plain(last);
    },
    untrusted: () => untrusted,
  };
};

/** An IPv4 address as such, also on a socket of both families; without the name of an interface. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
