import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findMongod, startMongod } from '@runledger/local-servers/mongodb';
import { describeExit } from '@runledger/local-servers/managed-process';
import { sleep } from '@runledger/resilience/abort';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { recordProcess } from '../data-folder/leftovers.ts';
import { keepRunning, type SupervisedProcess } from '../supervision/keep-running.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { readSecretFile } from '../keys.ts';

/** Where the run views are. */
export type Views =
  | { readonly kind: 'given'; readonly url: string }
  | { readonly kind: 'mongod'; readonly url: string; readonly version: string }
  | { readonly kind: 'sqlite'; readonly file: string };

interface DatabaseOptions {
  readonly env: NodeJS.ProcessEnv;
  /** `MONGODB_URL`. */
  readonly given: string | undefined;
  readonly print: (line: string) => void;
  readonly stopping: AbortSignal;
}

/** The MongoDB of `MONGODB_URL` once it answers, else a `mongod` from PATH as a child process, else a file in the data folder. */
export const startDatabase = async (
  open: AsyncDisposableStack,
  folder: DataFolder,
  { env, given, print, stopping }: DatabaseOptions,
): Promise<Views> => {
  if (given !== undefined) {
    await whenReachable(given, print, stopping);
    return { kind: 'given', url: given };
  }
  const found = await findMongod({ env });
  if (found === undefined) return { kind: 'sqlite', file: folder.at('views.sqlite') };
  print(`Starting mongod ${found.version}.`);
  const dataDir = folder.at('mongod');
  const password = await openMongodPassword(found.path, dataDir);
  let port = 0;
  const start = async (): Promise<SupervisedProcess> => {
    const server = await startMongod({
      binary: found.path,
      dataDir,
      port,
      auth: true,
      logFile: folder.at('logs/mongod.log'),
    });
    port = server.port;
    await recordProcess(folder, 'mongod', server.pid);
    return {
      ended: server.exited.then((exit) => `ended (${describeExit(exit)})`),
      stop: async () => void (await server.stop()),
    };
  };
  open.use(await keepRunning({ name: 'mongod', start, print }));
  return {
    kind: 'mongod',
    url: `mongodb://${MONGOD_USER}:${password}@127.0.0.1:${port}/runledger?directConnection=true&authSource=admin`,
    version: found.version,
  };
};

const ANSWER_WITHIN_MS = 3_000;
const ASK_AGAIN_AFTER_MS = 1_000;

/** Without its views the API would list nothing, so nothing is ready before. */
const whenReachable = async (
  url: string,
  print: (line: string) => void,
  stopping: AbortSignal,
): Promise<void> => {
  const { whyUnreachable } = await import('@runledger/gateway/views/mongo/mongo-server');
  let isWaiting = false;
  for (;;) {
    const why = await whyUnreachable(url, ANSWER_WITHIN_MS);
    stopping.throwIfAborted();
    if (why === undefined) {
      if (isWaiting) print('MongoDB answers.');
      return;
    }
    if (!isWaiting)
      print(
        `Waiting for MongoDB at ${withoutCredentials(url)} (MONGODB_URL): ${why}. ` +
          'Start it, and this start continues. Without MONGODB_URL the run views need no server: stop with Ctrl-C, unset it and start again.',
      );
    isWaiting = true;
    await sleep(ASK_AGAIN_AFTER_MS, stopping);
    stopping.throwIfAborted();
  }
};

/** For people, who must not see its password. */
export const withoutCredentials = (url: string): string =>
  url.replace(/^([a-z+]+:\/\/)(?:[^/?#]*@)?([^?#]*).*$/is, '$1$2');

export const viewsEnvironment = (views: Views): Record<string, string> =>
  views.kind === 'sqlite'
    ? { RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: views.file }
    : { RUNLEDGER_VIEWS: 'mongodb', MONGODB_URL: views.url };

/** The only user of the mongod of a standalone. */
const MONGOD_USER = 'runledger';
/** Beside the data that it opens: who removes those makes both anew. */
const FILE = 'password';

/**
 * The password of the user. Before the first start with these data, mongod makes the user, and asks for no password meanwhile: nothing is
 * stored, and no program runs yet.
 */
const openMongodPassword = async (binary: string, dataDir: string): Promise<string> => {
  const file = join(dataDir, FILE);
  const kept = await readSecretFile(file);
  if (kept !== undefined) return kept;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const password = randomBytes(32).toString('base64url');
  const open = await startMongod({ binary, dataDir });
  try {
    const { makeUser } = await import('@runledger/gateway/views/mongo/mongo-server');
    await makeUser(open.url, MONGOD_USER, password);
  } finally {
    await open.stop();
  }
  await writePrivateFile(file, `${password}\n`);
  return password;
};
