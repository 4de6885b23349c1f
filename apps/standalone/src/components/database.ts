import { findMongod, startMongod } from '@runledger/local-servers/mongodb/mongodb';
import { describeExit } from '@runledger/local-servers/process/managed-process';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { recordProcess } from '../data-folder/leftovers.ts';
import { keepRunning } from '../supervision/keep-running.ts';
import type { SupervisedProcess } from '../supervision/keep-running.ts';

/** Where the run views are. */
export type Views =
  | { readonly kind: 'given'; readonly url: string }
  | { readonly kind: 'mongod'; readonly url: string; readonly version: string }
  | { readonly kind: 'sqlite'; readonly file: string };

/** The MongoDB of `MONGODB_URL`, else a `mongod` from PATH as a child process, else a file in the data folder. */
export const startDatabase = async (
  open: AsyncDisposableStack,
  folder: DataFolder,
  env: NodeJS.ProcessEnv,
  given: string | undefined,
  print: (line: string) => void,
): Promise<Views> => {
  if (given !== undefined) return { kind: 'given', url: given };
  const found = await findMongod({ env });
  if (found === undefined) return { kind: 'sqlite', file: folder.at('views.sqlite') };
  print(`Starting mongod ${found.version}.`);
  let port = 0;
  const start = async (): Promise<SupervisedProcess> => {
    const server = await startMongod({
      binary: found.path,
      dataDir: folder.at('mongod'),
      port,
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
    url: `mongodb://127.0.0.1:${port}/runledger?directConnection=true`,
    version: found.version,
  };
};

export const viewsEnvironment = (views: Views): Record<string, string> =>
  views.kind === 'sqlite'
    ? { RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: views.file }
    : { RUNLEDGER_VIEWS: 'mongodb', MONGODB_URL: views.url };
