import { randomUUID } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { brokerAccess, type BrokerAccess } from './broker-access.ts';
import { environment } from './environment.ts';

/** The environment variable with the folder that the global teardown removes. */
export const SHARED_BROKERS_FOLDER = 'RUNLEDGER_TEST_SHARED_BROKERS';

/** An account with JetStream, at a broker that the test files of one vitest worker share. No other test gets it. */
export type TestAccount = BrokerAccess & AsyncDisposable;

/** The streams of an account stay until its broker ends: this bounds the disk and the memory that they take. */
const ACCOUNTS_PER_BROKER = 24;

interface SharedBroker {
  readonly password: string;
  readonly server: Promise<AsyncDisposable & { readonly url: string }>;
  readonly inUse: Set<number>;
  given: number;
}

let latest: SharedBroker | undefined;

/**
 * Gives the test an account of its own, in a few milliseconds. The worker starts its broker with the first call, and another
 * one when all accounts are given. A broker ends when its last account is disposed of, or with the worker.
 */
export const testAccount = async (): Promise<TestAccount> => {
  if (latest === undefined || isUsedUp(latest)) latest = startBroker();
  const broker = latest;
  const { given, inUse, password } = broker;
  broker.given += 1;
  inUse.add(given);
  const server = await broker.server;
  return {
    ...brokerAccess({ url: server.url, user: userOf(given), password }),
    [Symbol.asyncDispose]: async () => {
      const wasInUse = inUse.delete(given);
      if (wasInUse && inUse.size === 0 && isUsedUp(broker)) await server[Symbol.asyncDispose]();
    },
  };
};

const isUsedUp = ({ given }: SharedBroker): boolean => given === ACCOUNTS_PER_BROKER;

const userOf = (number: number): string => `test-${number}`;

const startBroker = (): SharedBroker => {
  const password = randomUUID();
  return { password, server: startServer(password), inUse: new Set(), given: 0 };
};

const startServer = async (password: string): Promise<AsyncDisposable & { readonly url: string }> => {
  await using opened = new AsyncDisposableStack();
  const parent = environment[SHARED_BROKERS_FOLDER] ?? tmpdir();
  const folder = opened.use(await mkdtempDisposable(join(parent, 'broker-')));
  const { path: binary } = await findNatsServer({ env: environment });
  const server = await startNatsServer({
    binary,
    env: environment,
    storeDir: folder.path,
    authorization: accounts(password),
  });
  opened.defer(async () => {
    server.kill('SIGKILL');
    await server.exited;
  });
  const kept = opened.move();
  return { url: server.url, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

const accounts = (password: string): string => {
  const each = Array.from({ length: ACCOUNTS_PER_BROKER }, (_, number) => {
    const user = JSON.stringify({ user: userOf(number), password });
    return `${userOf(number)}: { jetstream: enabled, users: [${user}] }`;
  });
  return `accounts {\n${each.join('\n')}\n}`;
};
