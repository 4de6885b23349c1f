import {
  findMongod,
  startMongod,
  type MongoServer,
  ensureSecantusDb,
  startSecantusDb,
} from '@runledger/local-servers/mongodb';
import { secret } from '@runledger/service-kit/config-schemas';
import { readConfig } from '@runledger/service-kit/config';
import { messageOf } from '@runledger/resilience/errors';
import { MongoClient } from 'mongodb';
import { Type } from 'typebox';
import { folderInMemory } from './servers-folder.ts';

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
    /** The server that the global setup found; null if RUNLEDGER_SKIP_MONGODB is set. */
    sharedMongo: SharedMongo | null;
  }
}

/** Prints one sentence for each server that is used or skipped, and each step that takes time. */
export type Say = (sentence: string) => void;

/**
 * The one MongoDB server of a test run, in this order: `MONGODB_URL`, `mongod` on `PATH`, a Docker engine,
 * SecantusDB. A started server is closed with `open`. @throws Error that says what to do, if the machine has none of them
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
    // Without the URL, which may hold a password.
    const why = messageOf(error);
    throw new Error(
      `The server of MONGODB_URL does not answer (${why}). Correct it, or unset it to use another server.`,
      { cause: error },
    );
  }
};

const temporaryFolder = async (open: AsyncDisposableStack): Promise<string> =>
  open.use(await folderInMemory('mongodb')).path;

const adopt = (server: MongoServer, open: AsyncDisposableStack): MongoServer => {
  // Killed and not stopped, because its data is not needed any more.
  open.defer(async () => {
    server.kill('SIGKILL');
    await server.exited;
  });
  return server;
};

const startContainer = async (open: AsyncDisposableStack, say: Say): Promise<string | undefined> => {
  // Loaded here, because it is large and most runs do not need it.
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  try {
    await getContainerRuntimeClient();
  } catch {
    return undefined;
  }
  say(`Starting ${MONGO_IMAGE} with Docker; the first start pulls the image.`);
  try {
    const container = await new GenericContainer(MONGO_IMAGE).withExposedPorts(27017).start();
    open.defer(async () => {
      await container.stop();
    });
    return `mongodb://${container.getHost()}:${container.getMappedPort(27017)}/?directConnection=true`;
  } catch (error) {
    say(`Docker is skipped: ${messageOf(error)}`);
    return undefined;
  }
};
