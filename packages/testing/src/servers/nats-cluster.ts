import { freePort } from '@runledger/local-servers/free-port';
import type { NatsClusterSettings } from '@runledger/local-servers/nats-server';
import { testNats, type TestNats, type TestNatsOptions } from './nats.ts';
import { tcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { watchedNats, type WatchedNats, type WatchedNatsOptions } from './watched-nats.ts';

export interface TestNatsCluster<Server extends TestNats = TestNats> extends AsyncDisposable {
  /** Named `n0`, `n1` and `n2`. */
  readonly servers: readonly Server[];
  /** Of all servers, with commas between them. */
  readonly url: string;
}

/** A cluster whose servers can be cut off from each other. */
export interface PartitionedNatsCluster extends TestNatsCluster {
  /** Nothing passes between this server and the other two: it is held back, or the connections are closed. Clients notice nothing. */
  cutOff(server: number, how: 'stall' | 'drop'): void;
  /** Everything passes again. */
  heal(): void;
}

const SERVERS = [0, 1, 2];

/** Starts three nats-servers that form a cluster, for this test alone. It may kill and pause each of them. */
export const testNatsCluster = async (
  options: Pick<TestNatsOptions, 'authorization'> = {},
): Promise<TestNatsCluster> => {
  const clusterOf = await clusterSettings();
  return startCluster((n, serverName) => testNats({ ...options, serverName, cluster: clusterOf(n) }));
};

/** As `testNatsCluster`; each server runs under the watchdog of its image. */
export const watchedNatsCluster = async (
  options: Pick<WatchedNatsOptions, 'path'> = {},
): Promise<TestNatsCluster<WatchedNats>> => {
  const clusterOf = await clusterSettings();
  return startCluster((n, serverName) => watchedNats({ ...options, serverName, cluster: clusterOf(n) }));
};

const clusterSettings = async (): Promise<(server: number) => NatsClusterSettings> => {
  const ports = await Promise.all(SERVERS.map(() => freePort()));
  return (server) => ({ name: 'test', port: ports[server] ?? 0, ports });
};

/** As `testNatsCluster`; each server reaches each other one through a proxy. */
export const partitionedNatsCluster = async (): Promise<PartitionedNatsCluster> => {
  await using opened = new AsyncDisposableStack();
  let ports: readonly number[] = [];
  const links: { readonly from: number; readonly to: number; readonly proxy: TcpProxy }[] = [];
  for (const from of SERVERS) {
    for (const to of SERVERS.filter((other) => other !== from)) {
      links.push({ from, to, proxy: opened.use(await tcpProxy(() => ports[to] ?? 0)) });
    }
  }
  // Only now, so that no proxy takes one of them.
  ports = await Promise.all(SERVERS.map(() => freePort()));
  const routesOf = (server: number): readonly string[] =>
    links.filter(({ from }) => from === server).map(({ proxy }) => proxy.url);
  const cluster = opened.use(
    await startCluster((n, serverName) =>
      testNats({ serverName, authorization: clusterThroughProxies(ports[n] ?? 0, routesOf(n)) }),
    ),
  );
  const kept = opened.move();
  return {
    ...cluster,
    cutOff: (server, how) =>
      links.filter(({ from, to }) => from === server || to === server).forEach(({ proxy }) => proxy[how]()),
    heal: () => links.forEach(({ proxy }) => proxy.heal()),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

/** Servers tell each other where they listen, which would be a way around the proxies: nobody can connect there. */
const NOWHERE = '127.0.0.1:1';

const clusterThroughProxies = (port: number, routes: readonly string[]): string =>
  `cluster { name: test, listen: "127.0.0.1:${port}", advertise: "${NOWHERE}", ` +
  `routes: ${JSON.stringify(routes)}, no_advertise: true }`;

const startCluster = async <Server extends TestNats>(
  start: (server: number, serverName: string) => Promise<Server>,
): Promise<TestNatsCluster<Server>> => {
  await using opened = new AsyncDisposableStack();
  const servers = await Promise.all(SERVERS.map(async (n) => opened.use(await start(n, `n${n}`))));
  const open = opened.move();
  return {
    servers,
    url: servers.map(({ url }) => url).join(','),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};
