import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { ConnectOutgoing, Refusal } from './connect-outgoing.ts';
import { tunnelTarget } from './core/proxy-target.ts';

/** Answers CONNECT: everything after the answer passes through in both directions, each as fast as the other side takes it. */
export const openTunnel = async (
  connect: ConnectOutgoing,
  authority: string,
  client: Socket,
  early: Buffer,
): Promise<void> => {
  const url = tunnelTarget(authority);
  const upstream = url === null ? NO_TUNNEL_TARGET : await connect(url, client);
  if ('why' in upstream) return void client.end(refusalText(upstream), () => client.destroySoon());
  // Each direction ends by itself.
  upstream.allowHalfOpen = true;
  if (early.length > 0) client.unshift(early);
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  // When one side breaks off, so does the other.
  pipeline(client, upstream, () => undefined);
  pipeline(upstream, client, () => undefined);
};

const NO_TUNNEL_TARGET: Refusal = {
  status: 400,
  why: 'CONNECT wants a host and a port, such as example.com:443.',
};

/** A whole answer. The reason is in its first line too: of an answer to CONNECT, most clients show nothing else. */
export const refusalText = ({ status, why }: Refusal): string => {
  const reason = why.replaceAll(/[^\x20-\x7e]/g, '?');
  const headers = [
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(why) + 1}`,
  ];
  return [`HTTP/1.1 ${status} ${reason}`, ...headers, 'Connection: close', '', `${why}\n`].join('\r\n');
};
