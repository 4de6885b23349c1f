import { mkdir, rm, writeFile, readFile, readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { hashOf } from './find-nats-server.ts';
import { tailOfFile } from './managed-process.ts';
import { startServer, type ServerProcess } from './server-process.ts';

export type StartNatsServerOptions = Pick<NatsServerSettings, 'storeDir'> &
  Partial<NatsServerSettings> & {
    /** The path of the program, as `findNatsServer` gives it. */
    readonly binary: string;
    /** Of the server, which then leaves half of the processors to those that use it, unless GOMAXPROCS says how many it has. */
    readonly env?: NodeJS.ProcessEnv;
    /** In hex: the program is not started if it has another one by now. */
    readonly sha256?: string;
  };

type NatsServer = ServerProcess & { readonly url: string; readonly port: number };

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

/** `always` flushes each message before it is acknowledged; a time flushes all messages at that interval. */
export type SyncInterval = 'always' | `${number}${'ms' | 's' | 'm'}`;

interface NatsServerSettings {
  readonly storeDir: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Serves `/healthz`, `/varz` and more, on the loopback address and without a password. No monitoring by default. */
  readonly monitorPort?: number;
  readonly serverName: string;
  /** When stored messages are flushed to disk. */
  readonly syncInterval: SyncInterval;
  readonly logFile?: string;
  readonly cluster?: NatsClusterSettings;
  /** A part of nats-server's configuration, copied unchanged: `authorization {…}` or `accounts {…}`. */
  readonly authorization?: string;
}

/** Servers on the loopback address that form a cluster. Each has a name of its own. */
export interface NatsClusterSettings {
  readonly name: string;
  /** Where this server listens for the others. */
  readonly port: number;
  /** Of every server, this one included. */
  readonly ports: readonly number[];
}

const LOOPBACK = '127.0.0.1';
/**
 * Far above any disk: the limits of the streams bound the store, and nats-server reserves them when they are made. Its own bound, three
 * quarters of the free space, would refuse limits of which little is used.
 */
const FILE_STORE_BYTES = 2 ** 50;
const LOG_FILE_BYTES = 16 * 1024 * 1024;

/** The settings in nats-server's own configuration language. */
export const natsServerConfig = (settings: NatsServerSettings): string => {
  const top = {
    server_name: settings.serverName,
    host: LOOPBACK,
    // nats-server reads 0 as its default port, and -1 as a free port.
    port: settings.port === 0 ? -1 : settings.port,
    http: settings.monitorPort === undefined ? undefined : `${LOOPBACK}:${settings.monitorPort}`,
    ports_file_dir: settings.storeDir,
    log_file: settings.logFile,
    logfile_size_limit: settings.logFile === undefined ? undefined : LOG_FILE_BYTES,
    logfile_max_num: settings.logFile === undefined ? undefined : 3,
  };
  const jetstream = {
    store_dir: settings.storeDir,
    sync_interval: settings.syncInterval,
    max_file_store: FILE_STORE_BYTES,
  };
  const parts = [
    lines(top),
    block('jetstream', jetstream),
    settings.cluster ? block('cluster', clusterLines(settings.cluster)) : '',
    settings.authorization ?? '',
  ];
  return `${parts.join('\n').trim()}\n`;
};

/** A frozen server is left within three seconds. Until then the others send it a part of the reads, which nobody answers. */
const ROUTE_PINGS = { ping_interval: '1s', ping_max: 2 };

const clusterLines = ({ name, port, ports }: NatsClusterSettings): Values => ({
  name,
  listen: `${LOOPBACK}:${port}`,
  routes: ports.map((other) => `nats://${LOOPBACK}:${other}`),
  ...ROUTE_PINGS,
});

type Values = Record<string, string | number | boolean | readonly string[] | undefined>;

const block = (name: string, values: Values): string => `${name} {\n${lines(values)}\n}`;

const lines = (values: Values): string =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join('\n');

const ANSWER_WITHIN_MS = 2_000;
const LONGEST_INFO = 65_536;

/** The port of the nats-server with this process id; undefined until it accepts clients and JetStream is ready. */
const readyPort = async (portsDir: string, pid: number): Promise<number | undefined> => {
  // The name of the file holds the process id, so the answer of another server on the same port does not count.
  const port = await portInFile(portsDir, pid);
  return port !== undefined && (await hasJetStream(port)) ? port : undefined;
};

/** Removes the port files of killed servers, because a new process may get the process id of an old one. */
const removePortFiles = async (portsDir: string): Promise<void> => {
  const files = await readdir(portsDir);
  await Promise.all(files.filter((file) => file.endsWith('.ports')).map((file) => rm(join(portsDir, file))));
};

const portInFile = async (portsDir: string, pid: number): Promise<number | undefined> => {
  const file = (await readdir(portsDir)).find((name) => name.endsWith(`_${pid}.ports`));
  if (file === undefined) return undefined;
  const port = /"nats":\s*\["[^"]*:(\d+)"/.exec(await readFile(join(portsDir, file), 'utf8'))?.[1];
  return port === undefined ? undefined : Number(port);
};

// A nats-server sends one line to each new connection: INFO and a JSON object about itself.
const hasJetStream = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_WITHIN_MS });
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    let greeting = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      greeting += text;
      if (greeting.includes('\r\n') || greeting.length > LONGEST_INFO) {
        answer(/^INFO \{.*"jetstream":\s*true\b/.test(greeting));
      }
    });
    for (const end of ['error', 'timeout', 'end']) socket.once(end, () => answer(false));
  });
