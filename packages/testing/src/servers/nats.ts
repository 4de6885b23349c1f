import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer, type StartNatsServerOptions } from '@runledger/local-servers/nats-server';
import { brokerAccess, type BrokerAccess } from './broker-access.ts';
import { environment } from './environment.ts';
import { privateServer, type PrivateServer } from './private-server.ts';

export type TestNatsOptions = Omit<Partial<StartNatsServerOptions>, 'binary' | 'env' | 'storeDir' | 'port'>;

/** With `authorization`, its access has no user. */
export type TestNats = PrivateServer & BrokerAccess;

/** Starts a nats-server with JetStream for this test alone, which may kill it. Dispose removes its folder. */
export const testNats = async (options: TestNatsOptions = {}): Promise<TestNats> => {
  // The global setup sets NATS_SERVER_BIN to the server that it found.
  const { path: binary } = await findNatsServer({ env: environment });
  const server = await privateServer('nats', (storeDir, port) =>
    startNatsServer({ ...options, binary, env: environment, storeDir, port }),
  );
  return { ...server, ...brokerAccess({ url: server.url }) };
};
