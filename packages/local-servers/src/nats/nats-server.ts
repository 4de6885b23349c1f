import { mkdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { hashOf } from './check-binary.ts';
import { natsServerConfig } from './nats-server-config.ts';
import type { NatsServerSettings } from './nats-server-config.ts';
import { readyPort, removePortFiles } from './nats-server-ready.ts';
import { tailOfFile } from '../process/output-tail.ts';
import { startServer } from '../process/server-process.ts';
import type { ServerProcess } from '../process/server-process.ts';

export type { NatsClusterSettings, SyncInterval } from './nats-server-config.ts';

export type StartNatsServerOptions = Pick<NatsServerSettings, 'storeDir'> &
  Partial<NatsServerSettings> & {
    /** The path of the program, as `findNatsServer` gives it. */
    readonly binary: string;
    /** Of the server, which then leaves half of the processors to those that use it, unless GOMAXPROCS says how many it has. */
    readonly env?: NodeJS.ProcessEnv;
    /** In hex: the program is not started if it has another one by now. */
    readonly sha256?: string;
  };

export type NatsServer = ServerProcess & { readonly url: string; readonly port: number };

/**
 * Starts nats-server with JetStream on the loopback address and waits until it accepts clients. After it ended, even by a kill,
 * it can start again on the same store and port. The caller ensures that only one server uses a store at a time.
 */
export const startNatsServer = async (options: StartNatsServerOptions): Promise<NatsServer> => {
  const { binary, sha256, env, ...given } = options;
  if (sha256 !== undefined) await refuseAnother(binary, sha256);
  const settings: NatsServerSettings = {
    port: 0,
    serverName: 'runledger',
    syncInterval: 'always',
    ...given,
  };
  const { storeDir, logFile } = settings;
  await mkdir(storeDir, { recursive: true, mode: 0o700 });
  await removePortFiles(storeDir);
  const configFile = join(storeDir, 'nats-server.conf');
  // A new file, which only this user can read from its first byte: it may hold passwords.
  await rm(configFile, { force: true });
  await writeFile(configFile, natsServerConfig(settings), { mode: 0o600, flag: 'wx' });

  const { server, ready: port } = await startServer({
    name: 'nats-server',
    file: binary,
    args: ['--config', configFile],
    ...(env && { env: { GOMAXPROCS: halfOfTheProcessors(), ...env } }),
    ready: (pid) => readyPort(storeDir, pid),
    ...(logFile === undefined ? {} : { moreOutput: () => tailOfFile(logFile) }),
  });
  return { ...server, url: `nats://127.0.0.1:${port}`, port };
};

/**
 * With all of them, the runtime of Go looks for work on processors that others need, each
 * time that a message wakes it: on two, a fifth of the server's processor time, and a tenth of the time of a whole run.
 */
const halfOfTheProcessors = (): string => String(Math.max(1, Math.floor(availableParallelism() / 2)));

const refuseAnother = async (binary: string, sha256: string): Promise<void> => {
  const found = await hashOf(binary);
  if (found.ok && found.sha256 === sha256) return;
  const why = found.ok ? `its SHA-256 is ${found.sha256} and was ${sha256}` : found.why;
  throw new Error(`${binary} is not started: ${why}. Start Runledger again to look for nats-server anew.`);
};
