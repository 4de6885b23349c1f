import { findNatsServer, startNatsServer } from '@runledger/local-servers/nats/nats-server';
import type { StartNatsServerOptions } from '@runledger/local-servers/nats/nats-server';
import { environment } from './environment.ts';
import { privateServer } from './private-server.ts';
import type { PrivateServer } from './private-server.ts';

export type TestNatsOptions = Omit<Partial<StartNatsServerOptions>, 'binary' | 'storeDir' | 'host' | 'port'>;

/** Starts a nats-server with JetStream for this test alone. Dispose removes its folder. */
export const testNats = async (options: TestNatsOptions = {}): Promise<PrivateServer> => {
  // The global setup names the one that it found in NATS_SERVER_BIN.
  const { path: binary } = await findNatsServer({ env: environment });
  return privateServer('nats', (storeDir, port) => startNatsServer({ ...options, binary, storeDir, port }));
};
