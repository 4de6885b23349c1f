import { mkdir, rm } from 'node:fs/promises';
import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import { OPERATOR } from '@runledger/broker-access/broker-user';
import { freePort } from '@runledger/local-servers/free-port';
import {
  findNatsServer,
  startNatsServer,
  type SyncInterval,
} from '@runledger/local-servers/nats/nats-server';
import { describeExit } from '@runledger/local-servers/process/managed-process';
import { brokerUsers } from '../keys/broker-users.ts';
import { keyFileOf, makeKeyFile } from '../keys/key-files.ts';
import { OPERATOR_FILE } from '../data-folder/connection-files.ts';
import type { Operator } from '../data-folder/connection-files.ts';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { noteProcess } from '../data-folder/leftovers.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { keepRunning } from '../supervision/keep-running.ts';
import type { RunningPart } from '../supervision/keep-running.ts';
import { stopWhenStuck } from './stuck-broker.ts';

/**
 * More than the limits of all streams together. They are upper bounds; by default nats-server would refuse them on a
 * disk with little room, where a newcomer's few runs have plenty.
 */
const FILE_STORE_BYTES = 32 * 1024 ** 3;
/** In the data folder. */
const KEYS = 'keys';

export interface BrokerOptions {
  readonly syncInterval: SyncInterval;
  /** As it stands in subjects. */
  readonly executor: string;
}

export interface Broker {
  readonly operator: Operator;
  /** Where nats-server tells how it is, on loopback. */
  readonly monitorPort: number;
  /** The file with the seed of a user: of a service, or of an executor by its name. */
  readonly keyFileOf: (user: string) => string;
}

/**
 * Starts nats-server on the data folder, and keeps it running on the same port and store. Every service has a key and
 * permissions of its own there; the operator's are in operator.json from then on. All keys are new at each start: nobody
 * who is not part of this one gets in.
 */
export const startBroker = async (
  open: AsyncDisposableStack,
  folder: DataFolder,
  env: NodeJS.ProcessEnv,
  { syncInterval, executor }: BrokerOptions,
  say: (line: string) => void,
): Promise<Broker> => {
  const found = await findNatsServer({ env, onProgress: say });
  const storeDir = folder.at('nats');
  const { seed, authorization } = await newKeys(folder.at(KEYS), executor);
  say(`Starting nats-server ${found.version} (${found.source}).`);
  let port = 0;
  const monitorPort = await freePort();
  const start = async (): Promise<RunningPart> => {
    const server = await startNatsServer({
      binary: found.path,
      storeDir,
      port,
      monitorPort,
      syncInterval,
      fileStoreLimit: FILE_STORE_BYTES,
      logFile: folder.at('logs/nats-server.log'),
      authorization,
    });
    port = server.port;
    await noteProcess(folder, 'nats-server', server.pid);
    const stop = async (): Promise<void> => void (await server.stop());
    const over = new AbortController();
    const ended = server.exited.finally(() => over.abort());
    void stopWhenStuck({ monitorPort, storeDir, stop, say }, over.signal);
    return { ended: ended.then((exit) => `ended (${describeExit(exit)})`), stop };
  };
  open.use(await keepRunning({ name: 'nats-server', start, say }));
  const operator = { nats_url: `nats://127.0.0.1:${port}`, nats_nkey: seed };
  await writePrivateFile(folder.at(OPERATOR_FILE), `${JSON.stringify(operator)}\n`);
  return { operator, monitorPort, keyFileOf: (user) => keyFileOf(folder.at(KEYS), user) };
};

interface NewKeys {
  /** The operator's. */
  readonly seed: string;
  /** For nats-server, with the public keys alone. */
  readonly authorization: string;
}

const newKeys = async (folder: string, executor: string): Promise<NewKeys> => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const known = await Promise.all(
    brokerUsers([executor]).map(async (user) => ({
      user,
      ...(await makeKeyFile(keyFileOf(folder, user.name))),
    })),
  );
  const operator = known.find(({ user }) => user.name === OPERATOR);
  if (operator === undefined) throw new Error('the broker has no operator');
  return { seed: operator.seed, authorization: brokerConfiguration(known) };
};
