import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Certificate } from './certificates.ts';
import { listen, type Receiver } from './receivers.ts';

export interface ForwardProxy extends Receiver {
  readonly asked: { target: string | undefined; authorization: string | undefined }[];
}

/** A small forward proxy, over TLS when it has a certificate; it answers 502 when it cannot connect. */
export const forwardProxy = async (certificate?: Certificate): Promise<ForwardProxy> => {
  const asked: ForwardProxy['asked'] = [];
  const server = certificate ? createTlsServer(certificate) : createServer();
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push({ target: request.url, authorization: request.headers['proxy-authorization'] });
    const { hostname, port } = new URL(`http://${request.url}`);
    const upstream = connect(Number(port), hostname.replace(/^\[|\]$/g, ''), () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    client.on('error', () => undefined).once('close', () => upstream.destroy());
    upstream.once('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'));
  });
  return { ...(await listen(server, certificate ? 'https' : 'http')), asked };
};
