import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCacheDir } from '../install/cache-dir.ts';
import { startMongoServer } from './mongo-process.ts';
import type { MongoServer } from './mongo-process.ts';
import { installPythonPackages } from '../install/python-packages.ts';
import { findPython } from '../install/python.ts';
import { runCommand } from '../process/run-command.ts';

/** How to run SecantusDB here. */
export interface SecantusDb {
  readonly python: string;
  /** The environment in which Python finds its packages. */
  readonly env: NodeJS.ProcessEnv;
}

const VERSION = '0.7.0b3';
const REQUIREMENTS = fileURLToPath(new URL('../requirements/secantusdb.txt', import.meta.url));
const WHAT_ELSE = 'Install Python 3.10 to 3.13 with pip, or put mongod on PATH, or set MONGODB_URL.';

/**
 * SecantusDB, a small server with MongoDB's protocol, for tests on machines without MongoDB. It is installed into the cache once.
 * @throws Error that says what to install, if this machine cannot run it
 */
export const ensureSecantusDb = async (options: {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress?: (sentence: string) => void;
}): Promise<SecantusDb> => {
  const { env, onProgress = () => undefined } = options;
  const python = await findPython(env, { oldest: [3, 10], newest: [3, 13] });
  if (python === undefined) {
    throw new Error(
      `SecantusDB cannot run: it needs Python 3.10 to 3.13, and there is none on PATH. ${WHAT_ELSE}`,
    );
  }
  const name = `secantusdb-${VERSION}-py${python.version}-${process.arch}`;
  const packages = join(await openCacheDir(env), name);
  const secantusDb: SecantusDb = {
    python: python.path,
    env: { ...env, PYTHONPATH: packages, PYTHONNOUSERSITE: '1' },
  };
  if (await runs(secantusDb)) return secantusDb;

  onProgress(`Installing SecantusDB ${VERSION} with pip (24 MB) into ${packages}.`);
  const installed = await installPythonPackages({
    python,
    requirements: REQUIREMENTS,
    folder: packages,
    env,
  });
  if (!installed.ok) throw new Error(`SecantusDB cannot be installed: ${installed.why}.\n${WHAT_ELSE}`);
  if (await runs(secantusDb)) return secantusDb;
  throw new Error(`SecantusDB in ${packages} does not run. Remove that folder and try again.`);
};

const runs = async ({ python, env }: SecantusDb): Promise<boolean> =>
  (await runCommand(python, ['-c', 'import secantus.cli'], { env, withinMs: 60_000 })).ok;

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
