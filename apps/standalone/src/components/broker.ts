import { mkdir, rm } from 'node:fs/promises';
import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import { OPERATOR, SYSTEM, systemUser } from '@runledger/broker-access/broker-user';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer, type SyncInterval } from '@runledger/local-servers/nats-server';
import { describeExit } from '@runledger/local-servers/managed-process';
import { brokerUsers, keyFileOf, makeKeyFile } from '../keys.ts';
import { OPERATOR_FILE, type Operator } from '../data-folder/connection-files.ts';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { recordProcess } from '../data-folder/leftovers.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { keepRunning, type SupervisedProcess } from '../supervision/keep-running.ts';
import { stopWhenStuck } from './stuck-broker.ts';

/** A folder in the data folder. */
const KEYS = 'keys';

export interface BrokerOptions {
  readonly syncInterval: SyncInterval;
  /** The names of the executors as tokens of subjects. */
  readonly executors: readonly string[];
}

export interface Broker {
  readonly operator: Operator;
  /** The file with the seed of a user. */
  readonly keyFileOf: (user: string) => string;
}

/**
 * Starts nats-server on the data folder, and keeps it running on the same port and store. Its monitoring, which would answer any program of
 * the machine, has no port. Every service has its own key and permissions. The operator's key is in operator.json from then on. Each start makes new keys, so that no process of
 * an earlier start can connect.
 */
export const startBroker = async (
  open: AsyncDisposableStack,
  folder: DataFolder,
  env: NodeJS.ProcessEnv,
  { syncInterval, executors }: BrokerOptions,
  print: (line: string) => void,
): Promise<Broker> => {
  const found = await findNatsServer({ env, onProgress: print });
  const storeDir = folder.at('nats');
  const { operatorSeed, systemSeed, authorization } = await newKeys(folder.at(KEYS), executors);
  print(`Starting nats-server ${found.version} (${found.source}).`);
  let port = 0;
  const start = async (): Promise<SupervisedProcess> => {
    const server = await startNatsServer({
      binary: found.path,
      env,
      sha256: found.sha256,
      storeDir,
      port,
      syncInterval,
      logFile: folder.at('logs/nats-server.log'),
      authorization,
    });
    port = server.port;
    await recordProcess(folder, 'nats-server', server.pid);
    const stop = async (): Promise<void> => void (await server.stop());
    const over = new AbortController();
    const ended = server.exited.finally(() => over.abort());
    void stopWhenStuck({ url: server.url, systemSeed, storeDir, stop, print }, over.signal);
    return { ended: ended.then((exit) => `ended (${describeExit(exit)})`), stop };
  };
  open.use(await keepRunning({ name: 'nats-server', start, print }));
  const operator = { nats_url: `nats://127.0.0.1:${port}`, nats_nkey: operatorSeed };
  await writePrivateFile(folder.at(OPERATOR_FILE), `${JSON.stringify(operator)}\n`);
  return { operator, keyFileOf: (user) => keyFileOf(folder.at(KEYS), user) };
};

interface NewKeys {
  readonly operatorSeed: string;
  readonly systemSeed: string;
  /** The configuration for nats-server. It holds public keys only. */
  readonly authorization: string;
}

const newKeys = async (folder: string, executors: readonly string[]): Promise<NewKeys> => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const known = await Promise.all(
    [...brokerUsers(executors), systemUser()].map(async (user) => ({
      user,
      ...(await makeKeyFile(keyFileOf(folder, user.name))),
    })),
  );
  const seedOf = (name: string): string => {
    const found = known.find(({ user }) => user.name === name);
    if (found === undefined) throw new Error(`The broker has no user ${name}.`);
    return found.seed;
  };
  return {
    operatorSeed: seedOf(OPERATOR),
    systemSeed: seedOf(SYSTEM),
    authorization: brokerConfiguration(known),
  };
};
