import { mkdir } from 'node:fs/promises';
import { freePort, isPortFree } from '../free-port.ts';
import { acceptsWrites } from './mongo-hello.ts';
import { startServer } from '../process/server-process.ts';
import type { ServerProcess, ServerSpec } from '../process/server-process.ts';

export type MongoServer = ServerProcess & { readonly url: string; readonly port: number };

/** Starts a server with MongoDB's protocol on the loopback address, and waits until it accepts writes. */
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
  const ready = async (): Promise<true | undefined> => ((await acceptsWrites(port)) ? true : undefined);
  const { server } = await startServer({ ...rest, args: args(port), ready });
  // A direct connection: it is a single server, even if it reports a replica set.
  return { ...server, url: `mongodb://127.0.0.1:${port}/?directConnection=true`, port };
};
