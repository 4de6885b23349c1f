import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@runledger/local-servers/free-port';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { type NatsClusterSettings, natsServerConfig } from '@runledger/local-servers/nats-server';
import type { Exit } from '@runledger/local-servers/managed-process';
import { startServer, type ServerProcess } from '@runledger/local-servers/server-process';
import { codeOf } from '@runledger/resilience/errors';
import { commandsIn } from '../stand-ins/image-commands.ts';
import { brokerAccess } from './broker-access.ts';
import { environment } from './environment.ts';
import type { TestNats } from './nats.ts';

/** A nats-server under the watchdog of its image, which is started again when it ends, as containers and systemd do it. */
export interface WatchedNats extends TestNats {
  /** Stops the watchdog and nats-server with SIGSTOP, as a paused container or machine does. */
  pause(): Promise<void>;
  /** SIGTERM to the watchdog. It is not started again before `restart`. */
  stop(): Promise<Exit>;
  /** Of the watchdog, which leads a process group. */
  readonly pid: () => number;
  readonly natsServerPid: () => Promise<number>;
  /** The last lines of the watchdog and of nats-server. */
  readonly output: () => string;
  /** It is killed from now on when it does not answer. */
  readonly isWatched: () => boolean;
  /** It accepts clients. */
  accepts(): Promise<boolean>;
  /** It has a majority, and all that it holds is current. */
  isWell(): Promise<boolean>;
  /** How it ended, each time. */
  readonly endings: readonly Ending[];
}

export interface Ending {
  readonly exit: Exit;
  /** The lines of the watchdog since its start. */
  readonly said: readonly string[];
}

export interface WatchedNatsOptions {
  readonly serverName: string;
  readonly cluster?: NatsClusterSettings;
  /** Of the watchdog; by default with the commands of its image. */
  readonly path?: string;
}

const WATCHDOG = fileURLToPath(new URL('../../../../deploy/nats/nats-watchdog.sh', import.meta.url));
/** Before each line of the watchdog. */
const SAID = 'nats-watchdog: ';
/** What the watchdog says when it has had enough answers. */
const WATCHED = 'it is killed when';
/** The first pause of Docker before it starts a container again. */
const START_AGAIN_AFTER_MS = 100;

export const watchedNats = async (options: WatchedNatsOptions): Promise<WatchedNats> => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-test-nats-')));
  const [port, monitorPort] = [await freePort(), await freePort()];
  let isWatched = false;
  let said: string[] = [];
  const path = options.path ?? (await commandsIn(join(folder.path, 'bin'), environment['PATH']));
  const start = await watchdogIn(folder.path, { ...options, path, port, monitorPort }, (line) => {
    isWatched ||= line.includes(WATCHED);
    if (line.startsWith(SAID)) said.push(line);
  });
  const endings: Ending[] = [];
  const kept = await keepStarted(start, (exit) => {
    endings.push({ exit, said });
    said = [];
    isWatched = false;
  });
  const kill9 = async (): Promise<void> => {
    const server = await kept.giveUp();
    signalGroup(server.pid, 'SIGKILL');
    await server.exited;
  };
  const stop = async (): Promise<Exit> => (await kept.giveUp()).stop();
  opened.defer(kill9);
  const open = opened.move();
  return {
    ...brokerAccess({ url: `nats://127.0.0.1:${port}` }),
    folder: folder.path,
    pid: () => kept.server().pid,
    natsServerPid: async () => Number(await readFile(pidFileIn(folder.path), 'utf8')),
    output: () => kept.server().tail(),
    isWatched: () => isWatched,
    accepts: () => answersWell(monitorPort, ACCEPTS),
    isWell: () => answersWell(monitorPort, ''),
    endings,
    kill9,
    stop,
    restart: async () => {
      await stop();
      await kept.restart();
    },
    pause: async () => {
      const server = await kept.started();
      signalGroup(server.pid, 'SIGSTOP');
      await server.pause();
    },
    resume: () => signalGroup(kept.server().pid, 'SIGCONT'),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};

interface KeptServer {
  /** The last one that has started. */
  server(): ServerProcess;
  /** A server accepts clients a moment before it counts as started, and until then a signal would go to the one before. */
  started(): Promise<ServerProcess>;
  /** As `started`. It is not started again before `restart`. */
  giveUp(): Promise<ServerProcess>;
  restart(): Promise<void>;
}

/** Starts it, and again whenever it has ended. */
const keepStarted = async (
  start: () => Promise<ServerProcess>,
  onEnd: (exit: Exit) => void,
): Promise<KeptServer> => {
  let server = await start();
  let starting = Promise.resolve();
  let isKept = true;
  const startAnew = async (): Promise<void> => {
    server = await start();
    void keep();
  };
  const keep = async (): Promise<void> => {
    const kept = server;
    onEnd(await kept.exited);
    await delay(START_AGAIN_AFTER_MS);
    if (isKept && server === kept) starting = startAnew();
  };
  void keep();
  const started = async (): Promise<ServerProcess> => {
    await starting;
    return server;
  };
  return {
    server: () => server,
    started,
    giveUp: () => {
      isKept = false;
      return started();
    },
    restart: async () => {
      await startAnew();
      isKept = true;
    },
  };
};

const pidFileIn = (folder: string): string => join(folder, 'nats-server.pid');

interface Ports {
  readonly port: number;
  readonly monitorPort: number;
}

/** What starts nats-server as its image does, and waits until it accepts clients. */
const watchdogIn = async (
  folder: string,
  { path, port, monitorPort, ...settings }: WatchedNatsOptions & Ports & { readonly path: string },
  onLine: (line: string) => void,
): Promise<() => Promise<ServerProcess>> => {
  const { path: binary } = await findNatsServer({ env: environment });
  const config = join(folder, 'nats.conf');
  const storeDir = join(folder, 'data');
  const own = natsServerConfig({ ...settings, storeDir, port, monitorPort, syncInterval: 'always' });
  // As broker-config makes it.
  await writeFile(config, `${own}http_base_path: "${MONITORING}"\n`);
  const args = [WATCHDOG, String(monitorPort), binary, '--pid', pidFileIn(folder), '--config', config];
  return async () => {
    const { server } = await startServer({
      name: 'nats-server under its watchdog',
      file: 'sh',
      args,
      onLine,
      env: { ...environment, PATH: path },
      ready: async () => (await answersWell(monitorPort, ACCEPTS)) || undefined,
    });
    return server;
  };
};

/** Below which path its monitoring answers. */
const MONITORING = '/a-secret-of-the-test';
/** JetStream is on, whatever it holds. */
const ACCEPTS = '?js-enabled-only=true';

const answersWell = async (monitorPort: number, query: string): Promise<boolean> => {
  const url = `http://127.0.0.1:${monitorPort}${MONITORING}/healthz${query}`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  return answer?.ok === true;
};

const signalGroup = (leader: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
};
