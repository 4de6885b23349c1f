import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { Server, Socket } from 'node:net';
import { stubDns, type StubDns } from '@runledger/testing/stand-ins/stub-dns';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { openChecked } from '@runledger/webhooks/checked-connection';
import { callbackPolicy } from '@runledger/webhooks/callback-policy';
import { onTestFinished } from 'vitest';
import type { Isolation } from '../../src/isolation/isolation.ts';
import { openOutgoingProxy, type OutgoingProxy } from '../../src/network/outgoing-proxy.ts';
import { isolationNamed } from '../fixtures/isolations.ts';

/** What can hold the network of a program, of these that this machine allows. What it does not allow is printed, with the reason. */
export const holders: readonly (readonly ['bubblewrap' | 'landlock', Isolation])[] = (
  await Promise.all(
    (['bubblewrap', 'landlock'] as const).map(async (name) => {
      const isolation = await isolationNamed(name);
      if (typeof isolation !== 'string') return [[name, isolation] as const];
      process.stderr.write(`no tests of the network with ${name}: ${isolation}\n`);
      return [];
    }),
  )
).flat();

export interface NetworkBed {
  readonly dns: StubDns;
  readonly proxy: OutgoingProxy;
  /** What the proxy has connected to, in order. */
  readonly connections: readonly Socket[];
}

/** The proxy of an executor whose operator allows these beside public addresses. */
export const openNetwork = async (
  allow: readonly string[],
  ownServices: readonly string[] = [],
): Promise<NetworkBed> => {
  const dns = await stubDns();
  const resolver = nameResolver({ servers: [dns.server], clock: () => performance.now() });
  onTestFinished(async () => {
    resolver[Symbol.dispose]();
    await dns[Symbol.asyncDispose]();
  });
  const policy = callbackPolicy({
    allow,
    allowedBy: 'EXECUTOR_NETWORK_ALLOW',
    ports: [80, 443],
    ownServices,
  });
  const open = openChecked({ policy, resolver, proxy: undefined });
  const connections: Socket[] = [];
  const proxy = openOutgoingProxy(async (...given) => {
    const socket = await open(...given);
    connections.push(socket);
    return socket;
  });
  return { dns, proxy, connections };
};

/** The port of a server on the loopback of the machine. */
export const listening = async (server: Server, host = '127.0.0.1'): Promise<number> => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
};

export const httpServer = (answer: RequestListener): Promise<number> => listening(createServer(answer));
