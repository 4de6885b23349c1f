import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort, isPortFree } from './free-port.ts';
import { startServer, type ServerProcess, type ServerSpec } from './server-process.ts';
import { findOnPath, runCommand } from './run-command.ts';
import { ensurePythonServer, type PythonServer } from './python.ts';

export type MongoServer = ServerProcess & { readonly url: string; readonly port: number };

/** Starts a server with MongoDB's protocol on the loopback address, and waits until it accepts writes. */
const startMongoServer = async (
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

interface MongodBinary {
  readonly path: string;
  /** For example `8.0.4`. */
  readonly version: string;
}

/** The `mongod` on `PATH`; undefined if there is none, or it does not run. */
export const findMongod = async (options: {
  readonly env: NodeJS.ProcessEnv;
}): Promise<MongodBinary | undefined> => {
  const path = await findOnPath('mongod', options.env);
  if (path === undefined) return undefined;
  const answer = await runCommand(path, ['--version'], { env: options.env, withinMs: 10_000 });
  const version = answer.ok ? /\bv(\d+\.\d+\.\d+\S*)/.exec(answer.stdout)?.[1] : undefined;
  return version === undefined ? undefined : { path, version };
};

/**
 * Starts `mongod` on the loopback address and waits until it accepts writes. After it ended, even by a kill, it can start again
 * on the same folder and port.
 */
export const startMongod = (options: {
  readonly binary: string;
  readonly dataDir: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Only users with a password may do anything; by default everybody may. */
  readonly auth?: boolean;
  /** mongod writes its log to this file, not to its standard output. */
  readonly logFile?: string;
}): Promise<MongoServer> => {
  const { binary, dataDir, port = 0, auth = false, logFile } = options;
  const log = logFile === undefined ? [] : [`--logpath=${logFile}`, '--logappend'];
  const args = (chosen: number): string[] => [
    `--dbpath=${dataDir}`,
    `--port=${chosen}`,
    '--bind_ip=127.0.0.1',
    '--nounixsocket',
    ...(auth ? ['--auth'] : []),
    ...log,
  ];
  return startMongoServer({ name: 'mongod', file: binary, args, dataDir, port });
};

const ANSWER_WITHIN_MS = 2_000;
const LONGEST_ANSWER = 1_048_576;

// OP_MSG with the BSON document {hello: 1, $db: 'admin'}; see the MongoDB wire protocol and bsonspec.org.
const HELLO = ((): Buffer => {
  const members = Buffer.from('\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0', 'latin1');
  const message = Buffer.alloc(16 + 4 + 1 + 4 + members.length);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(1, 4);
  message.writeInt32LE(2013, 12);
  message.writeInt32LE(4 + members.length, 21);
  members.copy(message, 25);
  return message;
})();

const IS_WRITABLE = Buffer.from('\x08isWritablePrimary\0\x01', 'latin1');

/** Whether a MongoDB server on this port of the loopback address accepts writes. */
const acceptsWrites = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_WITHIN_MS });
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    let received = Buffer.alloc(0);
    socket.once('connect', () => socket.write(HELLO));
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const whole = received.length >= 4 && received.length >= received.readInt32LE(0);
      if (whole || received.length > LONGEST_ANSWER) answer(received.includes(IS_WRITABLE));
    });
    for (const end of ['error', 'timeout', 'end']) socket.once(end, () => answer(false));
  });

/** How to run SecantusDB here. */
type SecantusDb = PythonServer;

/**
 * SecantusDB, a small server with MongoDB's protocol, for tests on machines without MongoDB. It is installed into the cache once.
 * @throws Error that says what to install, if this machine cannot run it
 */
export const ensureSecantusDb = (options: {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress?: (sentence: string) => void;
}): Promise<SecantusDb> =>
  ensurePythonServer(
    {
      title: 'SecantusDB',
      requirements: 'secantusdb.txt',
      version: '0.7.0b3',
      module: 'secantus.cli',
      megabytes: 24,
      advice: 'Install Python 3.10 to 3.13 with pip, or put mongod on PATH, or set MONGODB_URL.',
    },
    options,
  );

/** Starts SecantusDB on the loopback address. After it ended, even by a kill, it can start again on the same folder and port. */
export const startSecantusDb = async (options: {
  readonly secantusDb: SecantusDb;
  readonly storageDir: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
}): Promise<MongoServer> => {
  const { secantusDb, storageDir, port = 0 } = options;
  const { python, env } = secantusDb;
  await mkdir(storageDir, { recursive: true, mode: 0o700 });
  // An empty configuration. Otherwise it reads one from the user's home.
  const config = join(storageDir, 'secantusd.toml');
  await writeFile(config, '');
  const args = (chosen: number): string[] => [
    '-m',
    'secantus',
    `--config=${config}`,
    '--host=127.0.0.1',
    `--port=${chosen}`,
    `--storage-path=${join(storageDir, 'data')}`,
    '--log-level=WARNING',
  ];
  return startMongoServer({ name: 'SecantusDB', file: python, args, env, dataDir: storageDir, port });
};
