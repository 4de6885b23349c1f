import { cp, rm } from 'node:fs/promises';
import { findMongod, startMongod, ensureSecantusDb, startSecantusDb } from '@runledger/local-servers/mongodb';
import { describeExit, type Exit } from '@runledger/local-servers/managed-process';
import type { ServerProcess } from '@runledger/local-servers/server-process';
import { messageOf } from '@runledger/resilience/errors';
import type { EndKind } from './outages.ts';
import type { PartStore, RunningProcess } from './part.ts';

/** A server that can start again on the same store and the same port. */
export interface Server {
  readonly start: () => Promise<RunningProcess>;
  /** Known after the first start. */
  readonly url: () => string;
}

export interface ServerOptions {
  readonly folder: string;
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
}

/** The database's folder. The log has everything, so it may be emptied, or go back to an older state, at any time. */
export const databaseStore = (folder: string): PartStore => {
  const copy = `${folder}-copy`;
  let hasCopy = false;
  return {
    empty: async () => {
      await rm(folder, { recursive: true, force: true });
      return true;
    },
    restore: async () => {
      if (hasCopy) {
        await rm(folder, { recursive: true, force: true });
        await cp(copy, folder, { recursive: true });
        return true;
      }
      await cp(folder, copy, { recursive: true });
      hasCopy = true;
      return false;
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
    print(`Run views are in files: ${messageOf(error)}`);
    return undefined;
  }
};

/** `untilReady` is called for each start, when the process runs, and again after a pause. */
export const restartable = (
  start: () => Promise<ServerProcess & { readonly url: string }>,
  untilReady: (ended: Promise<unknown>) => Promise<void> = () => Promise.resolve(),
): Server => {
  let url = '';
  return {
    url: () => url,
    start: async () => {
      const server = await start();
      ({ url } = server);
      return {
        pid: server.pid,
        ended: server.exited.then((exit) => ({ how: describeExit(exit), endKind: endKindOf(exit) })),
        untilReady: () => untilReady(server.exited),
        kill: server.kill,
        stop: async () => void (await server.stop()),
      };
    },
  };
};

const endKindOf = ({ code, signal }: Exit): EndKind =>
  signal === null ? (code === 0 ? 'clean' : 'gave up') : 'killed';
