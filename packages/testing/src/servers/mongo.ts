import { randomUUID } from 'node:crypto';
import { findMongod, startMongod, ensureSecantusDb, startSecantusDb } from '@runledger/local-servers/mongodb';
import { messageOf } from '@runledger/resilience/errors';
import { MongoClient } from 'mongodb';
import { describe, inject } from 'vitest';
import { environment } from './environment.ts';
import { privateServer, type PrivateServer, type Start } from './private-server.ts';
import type { MongoSource } from './shared-mongo.ts';

const shared = inject('sharedMongo');

/** A suite that needs MongoDB. A test run without MongoDB skips it, and prints a warning at its start. */
export const describeWithMongo = shared === null ? describe.skip : describe;

/** A database for one test, on the server that all tests share. Dispose drops it. */
export type TestMongo = AsyncDisposable & {
  readonly url: string;
  readonly database: string;
  readonly source: MongoSource;
};

export const testMongo = async (): Promise<TestMongo> => {
  if (shared === undefined) {
    throw new Error('There is no MongoDB: globalSetup lacks packages/testing/src/servers/global-setup.ts.');
  }
  if (shared === null) throw new Error('This run has no MongoDB. Put the test into describeWithMongo.');
  const { url, source } = shared;
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  const drop = async (): Promise<void> => {
    await using client = new MongoClient(url);
    await client.db(database).dropDatabase();
  };
  return { url, database, source, [Symbol.asyncDispose]: drop };
};

/** A server for one test, or the reason why this machine cannot start one. */
export type PrivateMongo =
  | (PrivateServer & { readonly kind: 'running'; readonly source: MongoSource })
  | { readonly kind: 'unavailable'; readonly reason: string };

/** Starts a MongoDB server that the test may kill and restart: `mongod` on `PATH`, else SecantusDB. */
export const privateMongo = async (): Promise<PrivateMongo> => {
  if (shared === null) return { kind: 'unavailable', reason: 'this run has no MongoDB' };
  const found = await findStartable();
  if (found.kind === 'unavailable') return found;
  return { ...(await privateServer('own-mongodb', found.start)), kind: 'running', source: found.source };
};

type Startable =
  | { readonly kind: 'found'; readonly source: MongoSource; readonly start: Start }
  | { readonly kind: 'unavailable'; readonly reason: string };

const findStartable = async (): Promise<Startable> => {
  const mongod = await findMongod({ env: environment });
  if (mongod !== undefined) {
    const start: Start = (dataDir, port) => startMongod({ binary: mongod.path, dataDir, port });
    return { kind: 'found', source: 'mongod', start };
  }
  try {
    const secantusDb = await ensureSecantusDb({ env: environment });
    const start: Start = (storageDir, port) => startSecantusDb({ secantusDb, storageDir, port });
    return { kind: 'found', source: 'SecantusDB', start };
  } catch (error) {
    // The shared server comes from MONGODB_URL or Docker, and a test may not kill it.
    return { kind: 'unavailable', reason: messageOf(error) };
  }
};
