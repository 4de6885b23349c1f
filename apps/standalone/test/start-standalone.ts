import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@runledger/testing/wait-for';
import { readConnectionFile } from '../src/data-folder/connection-files.ts';
import type { Connection } from '../src/data-folder/connection-files.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const READY_WITHIN_MS = 90_000;
const STOP_WITHIN_MS = 60_000;

export interface StandaloneOptions {
  /** On top of what every program needs; `RUNLEDGER_PORT` is 0 unless it is set here. */
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs what follows it, such as `['nice']`. */
  readonly through?: (dataFolder: string) => readonly string[];
}

/** A standalone of the test's own, as `npm start` starts it. Its address stays the same over restarts. */
export interface Standalone extends Connection, AsyncDisposable {
  readonly dataFolder: string;
  /** Of the present process. */
  readonly pid: number;
  /** Everything that it wrote to the terminal so far. */
  readonly output: () => string;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** The exit code, or the signal that ended it. */
  readonly ended: () => Promise<number | string>;
  /** Ends it as a power cut would; the data stays. */
  readonly kill9: () => Promise<void>;
  /** Stops it when it still runs, and starts it on the same data. */
  readonly restart: () => Promise<void>;
  /** Stops it as Ctrl-C does and removes its data. */
  readonly stop: () => Promise<void>;
}

export interface StandaloneProcess {
  readonly pid: number;
  readonly output: () => string;
  readonly signal: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<number | string>;
  readonly hasEnded: () => boolean;
}

/** Starts the program, ready or not. */
export const spawnStandalone = (
  dataFolder: string,
  env: Readonly<Record<string, string>>,
  through: readonly string[] = [],
): StandaloneProcess => {
  const inherited = ['PATH', 'HOME', 'LANG', 'NATS_SERVER_BIN', 'XDG_CACHE_HOME', 'RUNLEDGER_CACHE_DIR'];
  const surroundings = Object.fromEntries(
    inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  const [file, ...args] = [...through, process.execPath, main];
  const child = spawn(file, args, {
    env: { ...surroundings, RUNLEDGER_PORT: '0', RUNLEDGER_DATA_DIR: dataFolder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error('The standalone was not started: there is no process.');
  let output = '';
  let hasEnded = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    pid: child.pid,
    output: () => output,
    signal: (signal) => void child.kill(signal),
    hasEnded: () => hasEnded,
    ended: once(child, 'close').then(([code, signal]) => {
      hasEnded = true;
      return signal === null ? Number(code) : String(signal);
    }),
  };
};

export const startStandalone = async ({
  env = {},
  through = () => [],
}: StandaloneOptions = {}): Promise<Standalone> => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'runledger-standalone-'));
  const remove = (): Promise<void> => rm(dataFolder, { recursive: true, force: true });
  let current = spawnStandalone(dataFolder, env, through(dataFolder));
  let connection = await whenReady(dataFolder, current, remove);

  const stopProcess = async (): Promise<void> => {
    current.signal('SIGINT');
    const tooLong = setTimeout(() => current.signal('SIGKILL'), STOP_WITHIN_MS);
    const ended = await current.ended;
    clearTimeout(tooLong);
    if (ended === 'SIGKILL') throw new Error(`The standalone did not stop. It wrote:\n${current.output()}`);
  };
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    if (!current.hasEnded()) await stopProcess();
    await remove();
  };
  return {
    dataFolder,
    get url() {
      return connection.url;
    },
    get api_key() {
      return connection.api_key;
    },
    get deployment_id() {
      return connection.deployment_id;
    },
    get webhook_secret() {
      return connection.webhook_secret;
    },
    get pid() {
      return current.pid;
    },
    output: () => current.output(),
    signal: (signal) => current.signal(signal),
    ended: () => current.ended,
    kill9: async () => {
      current.signal('SIGKILL');
      await current.ended;
    },
    restart: async () => {
      if (!current.hasEnded()) await stopProcess();
      const samePort = { ...env, RUNLEDGER_PORT: new URL(connection.url).port };
      current = spawnStandalone(dataFolder, samePort, through(dataFolder));
      connection = await whenReady(dataFolder, current, async () => undefined);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
};

/** Ready is when connection.json is there: a start removes the one that a killed standalone left. */
const whenReady = async (
  dataFolder: string,
  started: StandaloneProcess,
  giveUp: () => Promise<void>,
): Promise<Connection> => {
  try {
    return await waitFor(
      'the standalone to be ready',
      async () => {
        if (started.hasEnded()) return 'ended';
        if (!started.output().includes('Runledger is ready.')) return undefined;
        const file = await readConnectionFile(dataFolder);
        return file.kind === 'found' ? file.content : undefined;
      },
      { withinMs: READY_WITHIN_MS },
    ).then((ready) => {
      if (ready === 'ended') throw new Error('The standalone ended before it was ready.');
      return ready;
    });
  } catch (error) {
    started.signal('SIGKILL');
    await started.ended;
    await giveUp();
    throw new Error(
      `${error instanceof Error ? error.message : String(error)} It wrote:\n${started.output()}`,
      {
        cause: error,
      },
    );
  }
};
