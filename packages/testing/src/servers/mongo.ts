import { randomUUID } from 'node:crypto';
import { findMongod, startMongod } from '@runledger/local-servers/mongodb/mongodb';
import { ensureSecantusDb, startSecantusDb } from '@runledger/local-servers/mongodb/secantusdb';
import { MongoClient } from 'mongodb';
import { describe, inject } from 'vitest';
import { environment } from './environment.ts';
import { privateServer } from './private-server.ts';
import type { PrivateServer, Start } from './private-server.ts';
import type { MongoSource } from './shared-mongo.ts';

const shared = inject('sharedMongo');

/** A suite that needs MongoDB. A run without MongoDB skips it and prints a warning at its start. */
export const describeWithMongo = shared === null ? describe.skip : describe;

/** A database for this test alone, on the server that all tests share. Dispose drops it. */
export type TestMongo = AsyncDisposable & {
  readonly url: string;
  readonly database: string;
  readonly source: MongoSource;
};

export const testMongo = async (): Promise<TestMongo> => {
  if (shared === undefined) {
    throw new Error(
      'No MongoDB was looked for: packages/testing/src/servers/global-setup.ts is not in globalSetup.',
    );
  }
  if (shared === null) throw new Error('This run does without MongoDB: put the test into describeWithMongo.');
  const { url, source } = shared;
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  const drop = async (): Promise<void> => {
    await using client = new MongoClient(url);
    await client.db(database).dropDatabase();
  };
  return { url, database, source, [Symbol.asyncDispose]: drop };
};

/** A server for this test alone, or the reason why this machine has none that a test may kill. */
export type PrivateMongo =
  | (PrivateServer & { readonly kind: 'running'; readonly source: MongoSource })
  | { readonly kind: 'unavailable'; readonly reason: string };

/** Starts a MongoDB server that the test may kill and restart: `mongod` on `PATH`, else SecantusDB. */
export const privateMongo = async (): Promise<PrivateMongo> => {
  if (shared === null) return { kind: 'unavailable', reason: 'this run does without MongoDB' };
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
    // With no server at all this run would not have begun; here one is given that only others may stop.
    return { kind: 'unavailable', reason: error instanceof Error ? error.message : String(error) };
  }
};
