import { findNatsServer } from '@runledger/local-servers/nats/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats/nats-server';
import type { StartNatsServerOptions } from '@runledger/local-servers/nats/nats-server';
import { brokerAccess } from './broker-access.ts';
import type { BrokerAccess } from './broker-access.ts';
import { environment } from './environment.ts';
import { privateServer } from './private-server.ts';
import type { PrivateServer } from './private-server.ts';

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
