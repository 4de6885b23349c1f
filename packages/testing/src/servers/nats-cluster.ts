import { freePort } from '@runledger/local-servers/free-port';
import { testNats, type TestNats } from './nats.ts';

export interface TestNatsCluster extends AsyncDisposable {
  /** Named `n0`, `n1` and `n2`. */
  readonly servers: readonly TestNats[];
  /** Of all servers, with commas between them. */
  readonly url: string;
}

/** Starts three nats-servers that form a cluster, for this test alone. It may kill and pause each of them. */
export const testNatsCluster = async (): Promise<TestNatsCluster> => {
  await using opened = new AsyncDisposableStack();
  const ports = await Promise.all(Array.from({ length: 3 }, () => freePort()));
  const servers = await Promise.all(
    ports.map(async (port, n) =>
      opened.use(await testNats({ serverName: `n${n}`, cluster: { name: 'test', port, ports } })),
    ),
  );
  const open = opened.move();
  return {
    servers,
    url: servers.map(({ url }) => url).join(','),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};
