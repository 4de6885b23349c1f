import { findMongod, startMongod } from '@runledger/local-servers/mongodb/mongodb';
import { findNatsServer, startNatsServer } from '@runledger/local-servers/nats/nats-server';
import { ensureSecantusDb, startSecantusDb } from '@runledger/local-servers/mongodb/secantusdb';
import { describeExit, type Exit } from '@runledger/local-servers/process/managed-process';
import type { ServerProcess } from '@runledger/local-servers/process/server-process';
import type { EndKind } from './outages.ts';
import type { Running } from './part.ts';

/** A server that is started again and again on the same store and the same port. */
export interface Server {
  readonly start: () => Promise<Running>;
  /** Known once it was started. */
  readonly url: () => string;
}

const FILE_STORE_BYTES = 32 * 1024 ** 3;

export interface ServerSpec {
  /** What it keeps. */
  readonly folder: string;
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
}

export const broker = async (
  { folder, port, env, say }: ServerSpec,
  { logFile, authorization }: { readonly logFile: string; readonly authorization: string },
): Promise<Server> => {
  const { path: binary } = await findNatsServer({ env, onProgress: say });
  const fileStoreLimit = FILE_STORE_BYTES;
  return kept(() =>
    startNatsServer({ binary, storeDir: folder, port, logFile, fileStoreLimit, authorization }),
  );
};

/** `mongod`, else SecantusDB; undefined where this machine can have neither. */
export const database = async ({ folder, port, env, say }: ServerSpec): Promise<Server | undefined> => {
  const mongod = await findMongod({ env });
  if (mongod !== undefined) return kept(() => startMongod({ binary: mongod.path, dataDir: folder, port }));
  try {
    const secantusDb = await ensureSecantusDb({ env, onProgress: say });
    return kept(() => startSecantusDb({ secantusDb, storageDir: folder, port }));
  } catch (error) {
    say(`The views are kept in memory: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
};

const kept = (start: () => Promise<ServerProcess & { readonly url: string }>): Server => {
  let url = '';
  return {
    url: () => url,
    start: async () => {
      const server = await start();
      ({ url } = server);
      return {
        pid: server.pid,
        ended: server.exited.then((exit) => ({ how: describeExit(exit), manner: mannerOf(exit) })),
        ready: Promise.resolve(),
        kill: server.kill,
        stop: async () => void (await server.stop()),
      };
    },
  };
};

const mannerOf = ({ code, signal }: Exit): EndKind =>
  signal === null ? (code === 0 ? 'clean' : 'gave up') : 'killed';
