import { cp, rm } from 'node:fs/promises';
import { findMongod, startMongod } from '@runledger/local-servers/mongodb/mongodb';
import { findNatsServer, startNatsServer } from '@runledger/local-servers/nats/nats-server';
import { ensureSecantusDb, startSecantusDb } from '@runledger/local-servers/mongodb/secantusdb';
import { describeExit, type Exit } from '@runledger/local-servers/process/managed-process';
import type { ServerProcess } from '@runledger/local-servers/process/server-process';
import type { EndKind } from './outages.ts';
import type { PartStore, RunningProcess } from './part.ts';

/** A server that can start again on the same store and the same port. */
export interface Server {
  readonly start: () => Promise<RunningProcess>;
  /** Known after the first start. */
  readonly url: () => string;
}

const FILE_STORE_BYTES = 32 * 1024 ** 3;

export interface ServerOptions {
  readonly folder: string;
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
}

export const broker = async (
  { folder, port, env, print }: ServerOptions,
  { logFile, authorization }: { readonly logFile: string; readonly authorization: string },
): Promise<Server> => {
  const { path: binary } = await findNatsServer({ env, onProgress: print });
  const fileStoreLimit = FILE_STORE_BYTES;
  return restartable(() =>
    startNatsServer({ binary, storeDir: folder, port, logFile, fileStoreLimit, authorization }),
  );
};

/** The database's folder. The log has everything, so it may be emptied, or go back to an older state, at any time. */
export const databaseStore = (folder: string): PartStore => {
  const copy = `${folder}-copy`;
  let hasCopy = false;
  return {
    empty: () => rm(folder, { recursive: true, force: true }),
    restore: async () => {
      if (hasCopy) {
        await rm(folder, { recursive: true, force: true });
        await cp(copy, folder, { recursive: true });
      } else {
        await cp(folder, copy, { recursive: true });
        hasCopy = true;
      }
    },
  };
};

/** `mongod`, else SecantusDB; undefined if neither can run on this machine. */
export const database = async ({ folder, port, env, print }: ServerOptions): Promise<Server | undefined> => {
  const mongod = await findMongod({ env });
  if (mongod !== undefined)
    return restartable(() => startMongod({ binary: mongod.path, dataDir: folder, port }));
  try {
    const secantusDb = await ensureSecantusDb({ env, onProgress: print });
    return restartable(() => startSecantusDb({ secantusDb, storageDir: folder, port }));
  } catch (error) {
    print(`Run views are in files: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
};

const restartable = (start: () => Promise<ServerProcess & { readonly url: string }>): Server => {
  let url = '';
  return {
    url: () => url,
    start: async () => {
      const server = await start();
      ({ url } = server);
      return {
        pid: server.pid,
        ended: server.exited.then((exit) => ({ how: describeExit(exit), endKind: endKindOf(exit) })),
        ready: Promise.resolve(),
        kill: server.kill,
        stop: async () => void (await server.stop()),
      };
    },
  };
};

const endKindOf = ({ code, signal }: Exit): EndKind =>
  signal === null ? (code === 0 ? 'clean' : 'gave up') : 'killed';
