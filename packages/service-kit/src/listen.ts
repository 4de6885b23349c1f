import { once } from 'node:events';
import type { Server } from 'node:http';
import { messageOf } from '@runledger/resilience/errors';

export interface ListenOptions {
  /** The subject of messages, such as `The gateway`. */
  readonly name: string;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** What to change if the port is in use, such as `port` or the name of a setting. */
  readonly setting: string;
}

/** The address at which this machine reaches a server that listens on all addresses. */
const ANY_ADDRESS: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Resolves with the server's URL, without a slash at the end, when it listens. @throws Error that says what to do */
export const listen = async (
  server: Server,
  { name, host, port, setting }: ListenOptions,
): Promise<string> => {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = messageOf(cause);
    throw new Error(
      `${name} cannot listen on ${host}:${port} (${why}). Choose another ${setting}; 0 takes a free one.`,
      { cause },
    );
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error(`${name} has no TCP address`);
  const reachable = ANY_ADDRESS.get(host) ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${address.port}`;
};
