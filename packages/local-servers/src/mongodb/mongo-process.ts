import { mkdir } from 'node:fs/promises';
import { freePort, isPortFree } from '../free-port.ts';
import { takesWrites } from './mongo-hello.ts';
import { startServer } from '../process/server-process.ts';
import type { ServerProcess, ServerSpec } from '../process/server-process.ts';

export type MongoServer = ServerProcess & { readonly url: string; readonly port: number };

/** Starts a program that speaks MongoDB's protocol on a loopback port, and waits until it takes writes. */
export const startMongoServer = async (
  program: Pick<ServerSpec<true>, 'name' | 'file' | 'env'> & {
    readonly args: (port: number) => readonly string[];
    readonly dataDir: string;
    /** 0: any free port. */
    readonly port: number;
  },
): Promise<MongoServer> => {
  const { args, dataDir, port: wanted, ...rest } = program;
  if (wanted !== 0 && !(await isPortFree(wanted))) {
    throw new Error(
      `${program.name} cannot listen on 127.0.0.1:${wanted}: the port is in use. Choose another one.`,
    );
  }
  const port = wanted === 0 ? await freePort() : wanted;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const ready = async (): Promise<true | undefined> => ((await takesWrites(port)) ? true : undefined);
  const { server } = await startServer({ ...rest, args: args(port), ready });
  // A direct connection: the server is alone, whatever replica set it says that it belongs to.
  return { ...server, url: `mongodb://127.0.0.1:${port}/?directConnection=true`, port };
};
