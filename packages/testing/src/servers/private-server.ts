import { freePort } from '@runledger/local-servers/free-port';
import type { ServerProcess } from '@runledger/local-servers/server-process';
import { folderInMemory } from './servers-folder.ts';

/** A server that the test may kill and pause. Dispose removes its folder. */
export type PrivateServer = AsyncDisposable & {
  /** The same after every restart. */
  readonly url: string;
  readonly port: number;
  /** Where it stores its data. */
  readonly folder: string;
  /** Kills the process with SIGKILL, and resolves when it has ended. */
  kill9(): Promise<void>;
  /** Starts it again on the same port and data. A running one is stopped first. */
  restart(): Promise<void>;
  /** Stops the process with SIGSTOP, and resolves when all its threads have stopped. Its connections stay open. */
  pause(): Promise<void>;
  resume(): void;
};

export type Start = (
  folder: string,
  port: number,
) => Promise<ServerProcess & { readonly url: string; readonly port: number }>;

export const privateServer = async (name: string, start: Start): Promise<PrivateServer> => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await folderInMemory(name));
  let server = await start(folder.path, await freePort());
  const { url, port } = server;
  const kill9 = async (): Promise<void> => {
    server.kill('SIGKILL');
    await server.exited;
  };
  // Killed and not stopped, because its data is not needed any more.
  opened.defer(kill9);
  const open = opened.move();
  return {
    url,
    port,
    folder: folder.path,
    kill9,
    restart: async () => {
      await server.stop();
      server = await start(folder.path, port);
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};
