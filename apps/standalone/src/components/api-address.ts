import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { codeOf, messageOf } from '@runledger/resilience/errors';

export type ChosenPort =
  | { readonly ok: true; readonly port: number }
  | { readonly ok: false; readonly why: string };

/** The port of the API: `wanted`, or a free one for 0. The start fails early if the port is taken. */
export const choosePort = async (host: string, wanted: number): Promise<ChosenPort> => {
  const server = createServer();
  try {
    server.listen(wanted, host);
    await once(server, 'listening');
    return { ok: true, port: portOf(server) };
  } catch (error) {
    return { ok: false, why: sentence(host, wanted, error) };
  } finally {
    server.close();
  }
};

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return address.port;
};

const sentence = (host: string, port: number, error: unknown): string => {
  const code = codeOf(error);
  const another =
    'Choose another one with RUNLEDGER_PORT, such as RUNLEDGER_PORT=8081 npm start (0 takes any free one).';
  if (code === 'EADDRINUSE') return `Port ${port} of ${host} is taken by another program. ${another}`;
  if (code === 'EACCES') return `This user may not listen on port ${port} of ${host}. ${another}`;
  const why = messageOf(error);
  return `The API cannot listen on ${host}: ${why}. Set RUNLEDGER_HOST to an address of this machine.`;
};

/** The URL at which programs on this machine reach a server that listens on `host`. */
export const originOf = (host: string, port: number): string => {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
};
