import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePythonServer, type PythonServer } from '../install/python-server.ts';
import { startMongoServer } from './mongo-process.ts';
import type { MongoServer } from './mongo-process.ts';

/** How to run SecantusDB here. */
export type SecantusDb = PythonServer;

/**
 * SecantusDB, a small server with MongoDB's protocol, for tests on machines without MongoDB. It is installed into the cache once.
 * @throws Error that says what to install, if this machine cannot run it
 */
export const ensureSecantusDb = (options: {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress?: (sentence: string) => void;
}): Promise<SecantusDb> =>
  ensurePythonServer(
    {
      title: 'SecantusDB',
      requirements: 'secantusdb.txt',
      version: '0.7.0b3',
      module: 'secantus.cli',
      megabytes: 24,
      advice: 'Install Python 3.10 to 3.13 with pip, or put mongod on PATH, or set MONGODB_URL.',
    },
    options,
  );

/** Starts SecantusDB on the loopback address. After it ended, even by a kill, it can start again on the same folder and port. */
export const startSecantusDb = async (options: {
  readonly secantusDb: SecantusDb;
  readonly storageDir: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
}): Promise<MongoServer> => {
  const { secantusDb, storageDir, port = 0 } = options;
  const { python, env } = secantusDb;
  await mkdir(storageDir, { recursive: true, mode: 0o700 });
  // An empty configuration. Otherwise it reads one from the user's home.
  const config = join(storageDir, 'secantusd.toml');
  await writeFile(config, '');
  const args = (chosen: number): string[] => [
    '-m',
    'secantus',
    `--config=${config}`,
    '--host=127.0.0.1',
    `--port=${chosen}`,
    `--storage-path=${join(storageDir, 'data')}`,
    '--log-level=WARNING',
  ];
  return startMongoServer({ name: 'SecantusDB', file: python, args, env, dataDir: storageDir, port });
};
