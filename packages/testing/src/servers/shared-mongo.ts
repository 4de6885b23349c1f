import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMongod, startMongod } from '@runledger/local-servers/mongodb/mongodb';
import type { MongoServer } from '@runledger/local-servers/mongodb/mongodb';
import { ensureSecantusDb, startSecantusDb } from '@runledger/local-servers/mongodb/secantusdb';
import { secret } from '@runledger/service-kit/config/config-schemas';
import { readConfig } from '@runledger/service-kit/config/config';
import { MongoClient } from 'mongodb';
import { Type } from 'typebox';

/** The pinned MongoDB image; docker-compose.yml names the same. */
export const MONGO_IMAGE = 'mongo:8.0.15';

export type MongoSource = 'MONGODB_URL' | 'mongod' | 'Docker' | 'SecantusDB';

export interface SharedMongo {
  readonly url: string;
  readonly source: MongoSource;
}

const settingsSchema = Type.Object({
  MONGODB_URL: Type.Optional(secret({ description: 'the MongoDB server of the test run' })),
});

declare module 'vitest' {
  interface ProvidedContext {
    /** What the global setup found; null: the run was told to do without MongoDB. */
    sharedMongo: SharedMongo | null;
  }
}

/** Tells, in one sentence each, what was taken or passed over, and what takes time. */
export type Say = (sentence: string) => void;

/**
 * The one MongoDB server of a test run, in this order: `MONGODB_URL`, `mongod` on `PATH`, a Docker engine,
 * SecantusDB. What it starts is handed to `open`. Throws, with what to do, when the machine has none of them.
 */
export const openSharedMongo = async (
  env: NodeJS.ProcessEnv,
  open: AsyncDisposableStack,
  say: Say,
): Promise<SharedMongo> => {
  const { MONGODB_URL: url } = readConfig(settingsSchema, env);
  if (url !== undefined) {
    await checkGivenServer(url);
    return { url, source: 'MONGODB_URL' };
  }
  const mongod = await findMongod({ env });
  if (mongod !== undefined) {
    const dataDir = await temporaryFolder(open);
    const server = await startMongod({ binary: mongod.path, dataDir });
    return { url: adopt(server, open).url, source: 'mongod' };
  }
  const container = await startContainer(open, say);
  if (container !== undefined) return { url: container, source: 'Docker' };
  const secantusDb = await ensureSecantusDb({ env, onProgress: say });
  const server = await startSecantusDb({ secantusDb, storageDir: await temporaryFolder(open) });
  return { url: adopt(server, open).url, source: 'SecantusDB' };
};

const checkGivenServer = async (url: string): Promise<void> => {
  try {
    await using client = new MongoClient(url, { serverSelectionTimeoutMS: 5_000 });
    await client.db('admin').command({ ping: 1 });
  } catch (error) {
    // The URL is not repeated: it may hold a password.
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `MONGODB_URL names a server that does not answer (${why}). Correct it, or unset it to have a server found.`,
      { cause: error },
    );
  }
};

const temporaryFolder = async (open: AsyncDisposableStack): Promise<string> =>
  open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-test-mongodb-'))).path;

const adopt = (server: MongoServer, open: AsyncDisposableStack): MongoServer => {
  // Killed rather than stopped: nobody needs its data any more.
  open.defer(async () => {
    server.kill('SIGKILL');
    await server.exited;
  });
  return server;
};

const startContainer = async (open: AsyncDisposableStack, say: Say): Promise<string | undefined> => {
  // Loaded here, since it is large and most runs do not come so far.
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  try {
    await getContainerRuntimeClient();
  } catch {
    return undefined;
  }
  say(`Starting ${MONGO_IMAGE} with Docker; the first time it is pulled.`);
  try {
    const container = await new GenericContainer(MONGO_IMAGE).withExposedPorts(27017).start();
    open.defer(async () => {
      await container.stop();
    });
    return `mongodb://${container.getHost()}:${container.getMappedPort(27017)}/?directConnection=true`;
  } catch (error) {
    say(`Docker is passed over: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
};
